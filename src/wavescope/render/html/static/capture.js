"use strict";
// Source beside instructions: a line shows its instructions, a wait what it waited for.
(() => {
  const code = document.querySelector(".code");
  if (!code) return;
  const told = code.querySelector(".told");
  const rowOf = new Map();
  const rowsOfLine = new Map();
  for (const row of code.querySelectorAll(".isa tr[data-row]")) {
    rowOf.set(row.dataset.row, row);
    const line = row.dataset.line;
    if (!line) continue;
    if (!rowsOfLine.has(line)) rowsOfLine.set(line, []);
    rowsOfLine.get(line).push(row);
  }
  const lineOf = new Map(
    [...code.querySelectorAll(".source tr[data-line]")].map((row) => [row.dataset.line, row]),
  );

  const clear = () => {
    for (const row of code.querySelectorAll("tr.chosen, tr.producer")) row.classList.remove("chosen", "producer");
  };

  // Only the listing moves, not the page.
  const reveal = (row) => {
    const listing = row?.closest(".listing");
    if (!listing) return;
    const top = row.getBoundingClientRect().top - listing.getBoundingClientRect().top;
    if (top < 30 || top > listing.clientHeight - 30) listing.scrollTop += top - listing.clientHeight / 3;
  };

  const showLine = (line) => {
    clear();
    const rows = rowsOfLine.get(line) ?? [];
    lineOf.get(line)?.classList.add("chosen");
    for (const row of rows) row.classList.add("chosen");
    reveal(rows[0]);
    told.textContent = `${rows.length} instructions of line ${line.split(":")[1]}`;
  };

  const showRow = (row) => {
    clear();
    row.classList.add("chosen");
    const line = lineOf.get(row.dataset.line);
    line?.classList.add("chosen");
    reveal(line);
    const waited = (row.dataset.producers ?? "").split(" ").filter(Boolean).map((text) => text.split(":"));
    const words = waited.map(([number, stall]) => {
      const producer = rowOf.get(number);
      producer?.classList.add("producer");
      const text = producer?.querySelector(".text").textContent ?? `row ${number}`;
      return `row ${number}, ${Number(stall).toLocaleString("en")} ${code.dataset.unit}: ${text}`;
    });
    reveal(rowOf.get(waited[0]?.[0]));
    told.textContent = words.length ? `waits for ${words.join("; ")}` : row.querySelector(".text").textContent;
  };

  // A link of the plan, or of another page, names an instruction or a line.
  const showNamed = () => {
    const row = document.getElementById(location.hash.slice(1));
    if (!row || !code.contains(row)) return false;
    if (row.dataset.row) showRow(row);
    else showLine(row.dataset.line);
    reveal(row);
    return true;
  };

  const showHottest = () => {
    const line = lineOf.get(code.dataset.line);
    const row = rowOf.get(code.dataset.row);
    if (line) showLine(code.dataset.line);
    else if (row) showRow(row);
    reveal(line);
    reveal(row);
  };

  code.addEventListener("click", (event) => {
    const row = event.target.closest("tr");
    if (!row || !code.contains(row)) return;
    if (row.dataset.row) showRow(row);
    else if (row.dataset.line) showLine(row.dataset.line);
  });
  // The address stays the same when a link is followed again.
  document.addEventListener("click", (event) => {
    if (location.hash && event.target.closest("a")?.hash === location.hash) showNamed();
  });
  addEventListener("hashchange", showNamed);
  if (!showNamed()) showHottest();
  code.dataset.ready = "true";
})();
