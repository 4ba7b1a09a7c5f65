"use strict";
// The overview sorts by its columns and filters by words and verdicts; without scripts it is a plain table.
document.documentElement.classList.add("js");
{
  const table = document.querySelector("table.overview");
  if (table) {
    const body = table.tBodies[0];
    const rows = [...body.rows];
    const field = document.querySelector('input[type="search"][placeholder]');
    const shown = document.querySelector(".shown");
    const tallies = [...document.querySelectorAll(".tally")];
    const heads = [...table.tHead.rows[0].cells];

    const value = (row, column) => {
      const cell = row.cells[column];
      if (!cell) return "";
      return cell.dataset.value === undefined ? cell.textContent.trim().toLowerCase() : Number(cell.dataset.value);
    };

    const compare = (a, b) => {
      if (typeof a === "number" && typeof b === "number") return a - b;
      if (typeof a === "number" || typeof b === "number") return typeof a === "number" ? 1 : -1;
      return a.localeCompare(b);
    };

    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const numeric = head.classList.contains("number");
        const before = head.getAttribute("aria-sort");
        const up = before ? before === "descending" : !numeric; // of numbers the largest matter first
        for (const other of heads) other.removeAttribute("aria-sort");
        head.setAttribute("aria-sort", up ? "ascending" : "descending");
        rows.sort((a, b) => compare(value(a, column), value(b, column)) * (up ? 1 : -1));
        body.append(...rows);
      });
    });

    const filter = () => {
      const words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      const kinds = tallies.filter((tally) => tally.getAttribute("aria-pressed") === "true").map((tally) => tally.dataset.kind);
      let number = 0;
      for (const row of rows) {
        const text = (row.textContent + " " + row.dataset.words).toLowerCase();
        const wanted = (!kinds.length || kinds.includes(row.dataset.kind)) && words.every((word) => text.includes(word));
        row.hidden = !wanted;
        number += wanted;
        const section = row.dataset.section && document.getElementById(row.dataset.section);
        if (section) section.parentElement.hidden = !wanted;
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
