// The front page of the atlas: a search over all names, and a tile for each function. Without this script, the page
// lists the functions by module.

const data = JSON.parse(document.getElementById("atlas").textContent);
const root = document.getElementById("main").dataset.root ?? "";
const MOST_FOUND = 12;
const TILE = 10;
const PADDING = 3;
const WORDS = { f: "fails", b: "falls back", p: "works in part", u: "unproven", w: "works", h: "work of the host", ".": "not charted" };
const LOWERED_WORDS = { ...WORDS, f: "no lowering", p: "lowered in part", u: "lowered" };

// The functions of the script that was checked on this page. Their tiles are highlighted.
const checked = new Set(JSON.parse(document.getElementById("script-functions")?.textContent ?? "[]"));

const functions = [];
for (const [framework, { modules, names, columns, addresses }] of Object.entries(data)) {
  const words = names.split(" ");
  for (let at = 0; at < words.length; at += 2) {
    const module = modules[words[at + 1]];
    const last = decodeURIComponent(words[at]);
    const name = module ? `${module}.${last}` : last;
    functions.push({ framework, name, columns, place: at / 2, low: name.toLowerCase(), address: addresses[name] });
  }
}

// The rule for the addresses of usual names. Other names come with their addresses.
const addressOf = ({ name, address }) =>
  root + (address ?? `functions/${name.replace(/[A-Z]/g, (letter) => `~${letter.toLowerCase()}`)}.html`);

// A target that only lowers programs has its own words, because nothing runs on it.
const wordOf = ({ letters, lowered }, place) => (lowered ? LOWERED_WORDS : WORDS)[letters[place]];

function marksOf({ columns, place }) {
  return columns.map((column) => `${column.target}: ${wordOf(column, place)}`).join(" · ");
}

// A name that ends with the typed text comes before a name that contains it. Equal names are ordered by use.
function score(low, typed) {
  const last = low.slice(low.lastIndexOf(".") + 1);
  if (low === typed || last === typed) return 0;
  if (last.startsWith(typed)) return 1;
  return low.includes(typed) ? 2 : -1;
}

function find(text) {
  const typed = text.trim().toLowerCase();
  if (!typed) return [];
  const scored = functions.map((one) => [score(one.low, typed), one]).filter(([points]) => points >= 0);
  return scored.sort(([a, one], [b, other]) => a - b || one.place - other.place).map(([, one]) => one);
}

// The list breaks a name after its dots, as the pages do, and not within a word.
function breakable(name) {
  const parts = name.split(/(?<=[._:@/])(?=\w)/);
  return parts.flatMap((part, place) => (place ? [document.createElement("wbr"), part] : [part]));
}

function show(text) {
  const place = document.getElementById("found");
  const all = find(text);
  const list = document.createElement("ul");
  for (const one of all.slice(0, MOST_FOUND)) {
    const link = Object.assign(document.createElement("a"), { href: addressOf(one) });
    link.append(...breakable(one.name));
    const marks = Object.assign(document.createElement("span"), { className: "detail", textContent: marksOf(one) });
    const item = document.createElement("li");
    item.append(link, marks);
    list.append(item);
  }
  place.replaceChildren(...(all.length ? [list] : []));
  if (text.trim() && !all.length) place.textContent = "No charted function has this text in its name.";
  if (all.length > MOST_FOUND) place.append(`and ${all.length - MOST_FOUND} more: type more of the name`);
}

function wire_search() {
  const field = document.getElementById("find");
  // On a published site nobody answers this form without scripts, so it is hidden until they run.
  field.form.hidden = false;
  field.addEventListener("input", () => show(field.value));
  field.form.addEventListener("submit", (event) => {
    event.preventDefault();
    const [first] = find(field.value);
    if (first) location.href = addressOf(first);
  });
  field.value ||= new URLSearchParams(location.search).get("q") ?? "";
  show(field.value);
}

// Marks differ in shape, not only in color. Hatched: falls back; dotted: fails; half: works in part; hollow: unproven;
// point: host work.
const SHAPES = {
  w: (pen, x, y, size) => pen.fillRect(x, y, size, size),
  p: (pen, x, y, size) => {
    pen.fillRect(x, y + size / 2, size, size / 2);
    pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
  },
  b: (pen, x, y, size) => {
    pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1);
    pen.beginPath();
    for (const shift of [-size / 2, 0, size / 2]) {
      pen.moveTo(x + Math.max(0, shift), y + size + Math.min(0, shift));
      pen.lineTo(x + size + Math.min(0, shift), y + Math.max(0, shift));
    }
    pen.stroke();
  },
  f: (pen, x, y, size) => {
    pen.fillRect(x, y, size, size);
    pen.clearRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2);
  },
  u: (pen, x, y, size) => pen.strokeRect(x + 0.5, y + 0.5, size - 1, size - 1),
  h: (pen, x, y, size) => pen.fillRect(x + size / 2 - 1, y + size / 2 - 1, 2, 2),
};
const COLOURS = { w: "--success", p: "--partial", b: "--partial", f: "--complete", u: "--quiet", h: "--quiet" };

function wire_tiles(figure) {
  const { framework } = figure.dataset;
  const column = data[framework].columns[figure.dataset.column];
  const own = functions.filter((one) => one.framework === framework);
  const { letters } = column;
  const canvas = figure.querySelector("canvas");
  const caption = figure.querySelector("figcaption");
  const marked = own.filter((one) => checked.has(one.name)).length;
  if (marked) caption.textContent += ` The ${marked} that the script uses are outlined.`;
  const usual = caption.textContent;
  let across = 1;
  let at = 0;

  function draw() {
    across = Math.max(1, Math.floor((figure.clientWidth - 2 * PADDING) / TILE));
    const down = Math.ceil(own.length / across);
    const sharp = devicePixelRatio;
    canvas.width = across * TILE * sharp;
    canvas.height = down * TILE * sharp;
    canvas.style.width = `${across * TILE}px`;
    canvas.style.height = `${down * TILE}px`;
    const pen = canvas.getContext("2d");
    pen.scale(sharp, sharp);
    const style = getComputedStyle(document.documentElement);
    const probe = document.createElement("span");
    figure.append(probe);
    for (const [letter, paint] of Object.entries(SHAPES)) {
      probe.style.color = `var(${COLOURS[letter]})`;
      pen.fillStyle = pen.strokeStyle = getComputedStyle(probe).color || style.color;
      own.forEach((_, place) => {
        if (letters[place] === letter) {
          pen.globalAlpha = !checked.size || checked.has(own[place].name) ? 1 : 0.3;
          paint(pen, (place % across) * TILE + 1, Math.floor(place / across) * TILE + 1, TILE - 2);
        }
      });
    }
    probe.style.color = "var(--ink)";
    pen.strokeStyle = getComputedStyle(probe).color || style.color;
    pen.globalAlpha = 1;
    own.forEach((one, place) => {
      if (checked.has(one.name)) {
        pen.strokeRect((place % across) * TILE + 0.5, Math.floor(place / across) * TILE + 0.5, TILE - 1, TILE - 1);
      }
    });
    probe.remove();
  }

  function point(place) {
    at = Math.min(Math.max(place, 0), own.length - 1);
    caption.textContent = `${own[at].name}: ${wordOf(column, at)}`;
  }

  function under(event) {
    const box = canvas.getBoundingClientRect();
    const [x, y] = [event.clientX - box.left, event.clientY - box.top].map((way) => Math.floor(way / TILE));
    return Math.min(y * across + x, own.length - 1);
  }

  canvas.addEventListener("pointermove", (event) => point(under(event)));
  canvas.addEventListener("pointerleave", () => (caption.textContent = usual));
  canvas.addEventListener("click", (event) => (location.href = addressOf(own[under(event)])));
  canvas.addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: across, ArrowUp: -across }[event.key];
    if (event.key === "Enter") location.href = addressOf(own[at]);
    if (step === undefined) return;
    event.preventDefault();
    point(at + step);
  });
  caption.setAttribute("aria-live", "polite");
  figure.hidden = false;
  draw();
  new ResizeObserver(draw).observe(figure);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", draw);
}

// If a file is dropped anywhere on the page, the form for scripts sends it.
function wire_script(field) {
  document.addEventListener("dragover", (event) => event.preventDefault());
  document.addEventListener("drop", (event) => {
    event.preventDefault();
    if (!event.dataTransfer.files.length) return;
    field.files = event.dataTransfer.files;
    field.form.requestSubmit();
  });
}

wire_search();
if (document.querySelector("#script:enabled")) wire_script(document.getElementById("script"));
document.getElementById("assessed")?.focus();
document.querySelectorAll("figure.tiles").forEach(wire_tiles);
