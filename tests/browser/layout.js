// The faults of a page's layout in its present window, one line each: what makes the page scroll sideways, texts that
// lie on each other, and texts of which a part can neither be seen nor be scrolled to.
() => {
  const MOST_FAULTS = 5;
  const LEAST_WIDTH = 3;
  // A font's box is higher than its letters: boxes of neighboring lines may touch.
  const LEAST_SHARE = 0.3;
  // Read aloud only, drawn, or shown by a widget of the browser's.
  const OTHER = "svg, canvas, script, style, noscript, select, textarea, .skip, .hidden";
  const EVERYWHERE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };

  const intersect = (one, other) => ({
    left: Math.max(one.left, other.left),
    top: Math.max(one.top, other.top),
    right: Math.min(one.right, other.right),
    bottom: Math.min(one.bottom, other.bottom),
  });
  const width = (box) => box.right - box.left;
  const height = (box) => box.bottom - box.top;
  const quote = (text) => `"${text.textContent.trim().slice(0, 60)}"`;

  // By element: the innermost box that clips what is in it, and whether a reader can scroll there.
  const frames = new Map([[null, { box: EVERYWHERE, scrolls: true }]]);
  const frameOf = (element) => {
    if (!frames.has(element)) {
      const outer = frameOf(element.parentElement);
      const { overflowX } = getComputedStyle(element);
      frames.set(
        element,
        overflowX === "visible" || element === document.documentElement || element === document.body
          ? outer
          : {
              box: intersect(element.getBoundingClientRect(), outer.box),
              scrolls: overflowX === "auto" || overflowX === "scroll",
            },
      );
    }
    return frames.get(element);
  };

  const wide = () =>
    document.documentElement.scrollWidth <= innerWidth
      ? []
      : [...document.querySelectorAll("body *")]
          .filter((element) => {
            const box = intersect(element.getBoundingClientRect(), frameOf(element.parentElement).box);
            return box.right > innerWidth + 1 && width(box) > 0;
          })
          .map((element) => `too wide: ${element.outerHTML.slice(0, 120)}`)
          .concat("the page scrolls sideways");

  const texts = [];
  const cut = [];
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    const element = text.parentElement;
    if (!text.textContent.trim() || element.closest(OTHER) || !element.checkVisibility({ visibilityProperty: true }))
      continue;
    const range = document.createRange();
    range.selectNodeContents(text);
    const frame = frameOf(element);
    for (const whole of range.getClientRects()) {
      const box = intersect(whole, frame.box);
      if (!frame.scrolls && (width(whole) - width(box) > 1 || height(whole) - height(box) > LEAST_SHARE * height(whole)))
        cut.push(`cut: ${quote(text)}`);
      if (width(box) > 0 && height(box) > 0) texts.push({ text, box });
    }
  }

  texts.sort((one, other) => one.box.top - other.box.top);
  const overlaps = [];
  texts.forEach(({ text, box }, place) => {
    for (let next = place + 1; next < texts.length && texts[next].box.top < box.bottom; next++) {
      const other = texts[next];
      const common = intersect(box, other.box);
      const least = LEAST_SHARE * Math.min(height(box), height(other.box));
      if (other.text !== text && width(common) >= LEAST_WIDTH && height(common) > least)
        overlaps.push(`overlap: ${quote(text)} and ${quote(other.text)}`);
    }
  });

  return [wide(), overlaps, cut].flatMap((faults) => faults.slice(0, MOST_FAULTS));
}
