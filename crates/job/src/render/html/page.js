(() => {
  "use strict";
  const note = document.getElementById("note");
  // Our own note under the pointer replaces the browser's, which appears late.
  const words = new WeakMap();
  for (const point of document.querySelectorAll(".point")) {
    const title = point.querySelector("title");
    words.set(point, title ? title.textContent : "");
    if (title) title.remove();
  }
  const pretty = text => text.replace(/([A-Z])_mu/g, "$1\u03bc").replace(/S\^wc/g, "S wc");
  let marked = null;
  const unmark = () => {
    if (marked) { marked.setAttribute("stroke", "none"); marked = null; }
    note.hidden = true;
  };
  const nearest = (svg, x, y) => {
    let best = null, least = 40 * 40;
    for (const point of svg.querySelectorAll(".point")) {
      const box = point.getBoundingClientRect();
      const dx = box.left + box.width / 2 - x, dy = box.top + box.height / 2 - y;
      const far = dx * dx + dy * dy;
      if (far < least) { least = far; best = point; }
    }
    return best;
  };
  const show = event => {
    const point = nearest(event.currentTarget, event.clientX, event.clientY);
    if (point === marked) return;
    unmark();
    if (!point) return;
    marked = point;
    point.setAttribute("stroke", "currentColor");
    point.setAttribute("stroke-width", "2");
    note.textContent = pretty(words.get(point));
    note.hidden = false;
    const box = point.getBoundingClientRect(), size = note.getBoundingClientRect();
    const left = Math.min(Math.max(8, box.left + 14), innerWidth - size.width - 8);
    const top = box.top - size.height - 6;
    note.style.left = left + "px";
    note.style.top = (top < 8 ? box.bottom + 8 : top) + "px";
  };
  for (const svg of document.querySelectorAll("svg.chart")) {
    svg.addEventListener("pointermove", show);
    svg.addEventListener("pointerdown", show);
    svg.addEventListener("pointerleave", unmark);
  }
  addEventListener("scroll", unmark, { passive: true });
  for (const input of document.querySelectorAll(".switch input")) {
    input.addEventListener("change", () => {
      for (const variant of input.closest("figure").querySelectorAll(".variant")) {
        variant.hidden = variant.dataset.scale !== input.value;
      }
    });
  }
  // Print the numbers too.
  addEventListener("beforeprint", () => { for (const d of document.querySelectorAll("details")) d.open = d.querySelectorAll("tr").length <= 40; });
})();
