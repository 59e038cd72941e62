// Makes a page's figures interactive when they come into view. Without this script they stay pictures.
// A figure is an element with data-spec (the address of its specification), or an element that contains
// the specification in a script of type application/json.

// The page's content security policy forbids scripts to evaluate text or to add styles. So Vega interprets expressions
// as trees, and portolan.css has the styles of its tooltips.
const EMBEDDING = {
  actions: false,
  renderer: "svg",
  mode: "vega-lite",
  ast: true,
  defaultStyle: false,
  tooltip: { disableDefaultStyle: true },
};
const night = matchMedia("(prefers-color-scheme: dark)");

async function specification(figure) {
  const inline = figure.querySelector('script[type="application/json"]');
  if (inline) return JSON.parse(inline.textContent);
  const address = new URL(figure.dataset.spec, location.href);
  address.searchParams.set("theme", night.matches ? "dark" : "light");
  const answer = await fetch(address);
  if (!answer.ok) throw new Error(`${address} answered ${answer.status}`);
  return answer.json();
}

async function embed(figure) {
  try {
    const [spec] = await Promise.all([specification(figure), import("/figures/vega.js")]);
    const place = document.createElement("div");
    const made = await window.vegaEmbed(place, spec, EMBEDDING);
    // The figure has its own label. Vega's labels of single marks would only distract from it.
    place.setAttribute("aria-hidden", "true");
    const before = figure.view;
    figure.view = made;
    for (const old of figure.querySelectorAll("img, .interactive")) old.remove();
    place.classList.add("interactive");
    figure.append(place);
    if (before) before.finalize();
  } catch (error) {
    // The picture stays. It has the same content.
    console.warn("a figure stays a picture:", error);
  }
}

const figures = document.querySelectorAll("[data-figure]");
const seen = new IntersectionObserver(
  (entries) => {
    for (const { isIntersecting, target } of entries) {
      if (isIntersecting) {
        seen.unobserve(target);
        embed(target);
      }
    }
  },
  { rootMargin: "200px" },
);
for (const figure of figures) seen.observe(figure);
night.addEventListener("change", () => {
  for (const figure of figures) if (figure.view) embed(figure);
});
