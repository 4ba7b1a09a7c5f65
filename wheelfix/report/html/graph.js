// The drawings of who needs whom: zoom, drag, choose by mouse or keyboard, find by name.
for (const graph of document.querySelectorAll(".graph")) {
  const svg = graph.querySelector("svg");
  const data = JSON.parse(graph.closest(".needs").querySelector('script[type="application/json"]').textContent);
  const boxes = [...graph.querySelectorAll(".node")];
  const numbers = boxes.map((box) => Number(box.dataset.node)); // of the nodes that this drawing has
  const lines = [...graph.querySelectorAll(".links path")];
  const name = graph.querySelector(".canvas").id;
  const choice = "Choose a DLL to see who needs it and what it needs.";
  graph.insertAdjacentHTML("afterbegin", `<div class="tools">
    <button type="button" data-act="in" aria-label="Zoom in">+</button>
    <button type="button" data-act="out" aria-label="Zoom out">−</button>
    <button type="button" data-act="fit" aria-label="Fit the drawing">Fit</button>
    <label>Find a DLL <input type="search" list="${name}-names" autocomplete="off"></label>
    <datalist id="${name}-names"></datalist></div>`);
  graph.insertAdjacentHTML("beforeend", `<p class="unseen" id="${name}-hint">Drag to move. Tab into the drawing, move with the
    arrow keys, choose with Enter; plus, minus and 0 zoom. The tables say the same in words.</p>
    <div class="chosen-dll" aria-live="polite">${choice}</div>`);
  svg.setAttribute("aria-describedby", `${name}-hint`);
  for (const one of new Set(numbers.map((number) => data.nodes[number].name).sort()))
    graph.querySelector("datalist").append(new Option(one, one));
  if (boxes.length <= 20) graph.querySelector("label").remove(); // few are found without
  boxes.forEach((box, index) => { box.tabIndex = index ? -1 : 0; });
  const panel = graph.querySelector(".chosen-dll");
  const full = { x: 0, y: 0, w: +svg.getAttribute("width"), h: +svg.getAttribute("height") };
  let view = { ...full };
  let current = 0; // the one box that the Tab key reaches
  let chosen = -1;

  const show = () => svg.setAttribute("viewBox", [view.x, view.y, view.w, view.h].map((n) => n.toFixed(1)).join(" "));
  const scale = () => Math.max(view.w / svg.clientWidth, view.h / svg.clientHeight);

  function zoom(factor, x = view.x + view.w / 2, y = view.y + view.h / 2) {
    const width = Math.min(Math.max(view.w * factor, 200), Math.max(full.w, svg.clientWidth) * 4);
    const by = width / view.w;
    view = { x: x - (x - view.x) * by, y: y - (y - view.y) * by, w: width, h: view.h * by };
    show();
  }

  function fit() {
    view = { ...full };
    show();
  }

  function readable() { // begins at full size, on the first thing that is wrong
    const width = svg.clientWidth;
    const height = svg.clientHeight;
    if (!width) return;
    const wrong = boxes.find((box) => box.matches(".missing, .malformed, .optional"));
    const middle = wrong && width < full.w ? place(wrong).x : full.w / 2;
    const x = width < full.w ? Math.min(Math.max(middle - width / 2, 0), full.w - width) : (full.w - width) / 2;
    view = { x, y: 0, w: width, h: height };
    show();
  }

  function place(box) {
    const [x, y] = box.getAttribute("transform").match(/-?[\d.]+/g).map(Number);
    return { x: x + 78, y: y + 27 };
  }

  function reveal(number) {
    const { x, y } = place(boxes[number]);
    const margin = Math.min(view.w, view.h) * 0.1;
    if (x < view.x + margin || x > view.x + view.w - margin) view.x = x - view.w / 2;
    if (y < view.y + margin || y > view.y + view.h - margin) view.y = y - view.h / 2;
    show();
  }

  function focus(number) {
    boxes[current].tabIndex = -1;
    current = number;
    boxes[current].tabIndex = 0;
    reveal(number);
    boxes[current].focus({ preventScroll: true });
  }

  function listing(title, entries) {
    const part = document.createElement("div");
    const head = document.createElement("h5");
    head.textContent = title + " (" + entries.length + ")";
    const list = document.createElement("ul");
    for (const entry of entries) {
      const item = document.createElement("li");
      if (!(entry.index >= 0)) { // this drawing leaves it out
        item.textContent = entry.text;
      } else {
        const button = document.createElement("button");
        button.type = "button";
        button.textContent = entry.text;
        button.addEventListener("click", () => { choose(entry.index); focus(entry.index); });
        item.append(button);
      }
      if (entry.note) item.append(" " + entry.note);
      list.append(item);
    }
    part.append(head, list);
    return part;
  }

  function note([, , kind, required, fault]) {
    const words = [];
    if (kind !== "import") words.push(kind);
    if (!required) words.push("optional");
    if (fault) words.push(fault);
    return words.length ? "(" + words.join(", ") + ")" : "";
  }

  function choose(number) {
    chosen = number === chosen ? -1 : number;
    svg.classList.toggle("chosen-one", chosen >= 0);
    const near = new Set();
    const above = [];
    const below = [];
    for (const link of chosen < 0 ? [] : data.links) {
      const entry = (number) => ({ index: numbers.indexOf(number), text: data.nodes[number].name, note: note(link) });
      if (link[1] === numbers[chosen]) above.push(entry(link[0]));
      if (link[0] === numbers[chosen]) below.push(entry(link[1]));
    }
    for (const line of lines) {
      const ends = data.links[line.dataset.link].slice(0, 2).map((number) => numbers.indexOf(number));
      line.classList.toggle("near", ends.includes(chosen));
      if (ends.includes(chosen)) ends.forEach((index) => near.add(index));
    }
    boxes.forEach((box, index) => {
      box.classList.toggle("near", near.has(index));
      box.classList.toggle("chosen", index === chosen);
      box.setAttribute("aria-pressed", index === chosen ? "true" : "false");
    });
    panel.replaceChildren();
    if (chosen < 0) {
      panel.textContent = choice;
      return;
    }
    const node = data.nodes[numbers[chosen]];
    const title = document.createElement("h5");
    title.textContent = node.path || node.name;
    const facts = document.createElement("p");
    facts.textContent = node.facts.join(" · ");
    for (const text of node.outside) below.push({ text });
    const columns = document.createElement("div");
    columns.className = "columns";
    columns.append(listing("Needed by", above), listing("Needs", below));
    panel.append(title, facts, columns);
  }

  function neighbour(key) { // the nearest box in the direction of the arrow
    const from = place(boxes[current]);
    let best = -1;
    let least = Infinity;
    boxes.forEach((box, index) => {
      if (index === current) return;
      const to = place(box);
      const dx = to.x - from.x;
      const dy = to.y - from.y;
      const ahead = { ArrowLeft: -dx, ArrowRight: dx, ArrowUp: -dy, ArrowDown: dy }[key];
      const aside = key === "ArrowLeft" || key === "ArrowRight" ? Math.abs(dy) * 20 : Math.abs(dx) * 0.5;
      if (ahead > 1 && ahead + aside < least) {
        least = ahead + aside;
        best = index;
      }
    });
    return best;
  }

  svg.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key.startsWith("Arrow")) {
      const next = neighbour(event.key);
      if (next >= 0) focus(next);
    } else if (event.key === "Enter" || event.key === " ") choose(current);
    else if (event.key === "Escape") { if (chosen >= 0) choose(chosen); }
    else if (event.key === "+" || event.key === "=") zoom(0.8);
    else if (event.key === "-") zoom(1.25);
    else if (event.key === "0") fit();
    else if (event.key === "Home") focus(0);
    else if (event.key === "End") focus(boxes.length - 1);
    else return;
    event.preventDefault();
  });

  svg.addEventListener("wheel", (event) => { // without Ctrl the page scrolls, as everywhere
    if (!event.ctrlKey && !event.metaKey) return;
    event.preventDefault();
    const box = svg.getBoundingClientRect();
    const x = view.x + ((event.clientX - box.left) / box.width) * view.w;
    const y = view.y + ((event.clientY - box.top) / box.height) * view.h;
    zoom(event.deltaY > 0 ? 1.15 : 0.87, x, y);
  }, { passive: false });

  let grip = null;
  let moved = false;
  svg.addEventListener("pointerdown", (event) => {
    grip = { x: event.clientX, y: event.clientY, view: { ...view } };
    moved = false;
  });
  svg.addEventListener("pointermove", (event) => {
    if (!grip) return;
    const dx = event.clientX - grip.x;
    const dy = event.clientY - grip.y;
    if (!moved && Math.hypot(dx, dy) < 4) return;
    if (!moved) svg.setPointerCapture(event.pointerId);
    moved = true;
    svg.classList.add("moving");
    view.x = grip.view.x - dx * scale();
    view.y = grip.view.y - dy * scale();
    show();
  });
  const release = () => {
    grip = null;
    svg.classList.remove("moving");
  };
  svg.addEventListener("pointerup", release);
  svg.addEventListener("pointercancel", release);
  svg.addEventListener("click", (event) => {
    const box = event.target.closest(".node");
    if (moved || !box) return;
    choose(boxes.indexOf(box));
    focus(boxes.indexOf(box));
  });

  for (const button of graph.querySelectorAll("[data-act]")) {
    const acts = { in: () => zoom(0.8), out: () => zoom(1.25), fit };
    button.addEventListener("click", acts[button.dataset.act]);
  }
  graph.querySelector('input[type="search"]')?.addEventListener("change", (event) => {
    const wanted = event.target.value.trim().toLowerCase();
    if (!wanted) return;
    const names = numbers.map((number) => data.nodes[number].name.toLowerCase());
    const found = names.includes(wanted) ? names.indexOf(wanted) : names.findIndex((one) => one.includes(wanted));
    if (found < 0) {
      panel.textContent = "No DLL is called " + event.target.value;
      return;
    }
    if (found !== chosen) choose(found);
    focus(found);
  });
  readable();
  const folded = graph.closest("details:not([open])");
  if (folded) for (let part = folded; part; part = part.parentElement?.closest("details"))
    part.addEventListener("toggle", readable);
}
