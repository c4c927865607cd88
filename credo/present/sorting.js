// Sorts the rows of a table by a column: a click on its heading, or Enter there; again, the other way round.
"use strict";
for (const table of document.querySelectorAll("table.sortable")) {
  const [head, ...rows] = table.rows;
  const value = (row, place) => {
    const text = row.cells[place].textContent.trim(), number = parseFloat(text.replace(/,/g, "").replace("−", "-"));
    return Number.isNaN(number) ? text : number;
  };
  const compare = (a, b) => (typeof a === typeof b ? (a < b ? -1 : a > b ? 1 : 0) : typeof a === "number" ? -1 : 1);
  [...head.cells].forEach((cell, place) => {
    if (!cell.textContent.trim()) return;
    const sort = () => {
      const up = cell.getAttribute("aria-sort") === "descending";
      for (const other of head.cells) other.removeAttribute("aria-sort");
      cell.setAttribute("aria-sort", up ? "ascending" : "descending");
      const sign = up ? 1 : -1;
      table.tBodies[0].append(...[...rows].sort((a, b) => sign * compare(value(a, place), value(b, place))));
    };
    cell.tabIndex = 0;
    cell.title = "sort";
    cell.addEventListener("click", sort);
    cell.addEventListener("keydown", (event) => event.key === "Enter" && sort());
  });
}
