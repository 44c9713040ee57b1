"use strict";
(function () {
  const rows = Array.from(document.querySelectorAll("tr[data-life]"));
  function choose(id) {
    rows.forEach(function (row) {
      const is = row.dataset.life === id;
      row.classList.toggle("chosen", is);
      row.querySelector("button").setAttribute("aria-pressed", String(is));
    });
    document.querySelectorAll(".life").forEach(function (life) { life.hidden = life.id !== id; });
  }
  rows.forEach(function (row) { row.addEventListener("click", function () { choose(row.dataset.life); }); });
  if (rows.length) choose(rows[0].dataset.life);
})();
