"use strict";
// The overview sorts by its columns and filters by words and verdicts; without scripts it is a plain table.
document.documentElement.classList.add("js");
{
  const table = document.querySelector("table.overview");
  if (table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const tallies = [...document.querySelectorAll(".tally")];
    const heads = [...table.tHead.rows[0].cells];
    const section = (row) => document.getElementById(row.querySelector("a")?.hash.slice(1));
    const kind = (row) => row.querySelector(".badge").classList[1];
    const codes = (row) => [...(section(row)?.querySelectorAll(".finding > summary") ?? [])].map((part) => part.textContent);
    const words = rows.map((row) => [row.textContent, kind(row), ...codes(row)].join(" ").toLowerCase());

    const tools = document.createElement("div");
    tools.className = "tools";
    tools.innerHTML = '<label>Filter <input type="search" placeholder="name, verdict, rule" autocomplete="off"></label>'
      + '<span class="shown" aria-live="polite"></span>';
    table.before(tools);
    const [field, shown] = tools.querySelectorAll("input, .shown");

    const value = (row, column) => {
      if (heads[column].textContent === "verdict") return worst.indexOf(row);
      const text = row.cells[column].textContent.trim().toLowerCase();
      return heads[column].classList.contains("number") ? Number(text) : text;
    };
    const compare = (a, b) => typeof a === "number" ? a - b : a.localeCompare(b);
    const worst = [...rows]; // as the page has them

    heads.forEach((head, column) => {
      const button = document.createElement("button");
      button.type = "button";
      button.className = "sorter";
      button.append(...head.childNodes);
      head.append(button);
      button.addEventListener("click", () => {
        const before = head.getAttribute("aria-sort");
        const up = before ? before === "descending" : !head.classList.contains("number"); // of numbers the largest matter first
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.sort((a, b) => compare(value(a, column), value(b, column)) * (up ? 1 : -1));
        body.append(...rows);
      });
    });

    const filter = () => {
      const asked = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kinds = tallies.filter((tally) => tally.getAttribute("aria-pressed") === "true").map((tally) => tally.dataset.kind);
      let number = 0;
      for (const row of rows) {
        const text = words[worst.indexOf(row)];
        const wanted = (!kinds.length || kinds.includes(kind(row))) && asked.every((word) => text.includes(word));
        row.hidden = !wanted;
        number += wanted;
        if (section(row)) section(row).parentElement.hidden = !wanted;
      }
      for (const group of document.querySelectorAll(".fine"))
        group.hidden = ![...group.querySelectorAll(":scope > .wheel")].some((wheel) => !wheel.hidden);
      shown.textContent = number === rows.length ? "" : number + " of " + rows.length + " shown";
    };
    field.addEventListener("input", filter);
    for (const tally of tallies)
      tally.addEventListener("click", () => {
        tally.setAttribute("aria-pressed", tally.getAttribute("aria-pressed") === "true" ? "false" : "true");
        filter();
      });
  }
}

// A link into something folded unfolds it, also when it is followed a second time.
{
  const unfold = () => {
    let target = null;
    try {
      target = location.hash && document.getElementById(decodeURIComponent(location.hash.slice(1)));
    } catch { return; }
    for (let part = target; part; part = part.parentElement) if (part.tagName === "DETAILS") part.open = true;
    if (target) target.scrollIntoView();
  };
  addEventListener("hashchange", unfold);
  document.addEventListener("click", (event) => {
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === location.hash) unfold();
  });
  unfold();
}

// A command has a button that copies it.
for (const command of document.querySelectorAll("pre.paste")) {
  const button = document.createElement("button");
  button.type = "button";
  button.className = "copy";
  button.textContent = "Copy";
  const text = command.textContent;
  button.addEventListener("click", async () => {
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(command);
      button.textContent = "Selected";
    }
  });
  command.after(button);
}
