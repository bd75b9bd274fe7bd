// The table of picks: sorted, searched, a page at a time, with details below a row.

const PAGE_ROWS = 50;
const OTHERS = 20; // candidates that were not picked, among what a search finds

function pickColumns(data) {
  const some = (key) => data.picks.some((d) => d[key] !== null && d[key] !== undefined);
  return [
    {key: "rank", title: "Rank", value: (d) => d.rank, cell: (d) => String(d.rank), number: true},
    {key: "name", title: "Variable", value: (d) => shown(d.name).toLocaleLowerCase(), row: true},
    {key: "score", title: "Score", value: (d) => d.score, cell: scoreCell, number: true},
    {key: "correlation", title: "Correlation", value: (d) => d.correlation, cell: (d) => decimal(d.correlation), number: true},
    {key: "margin", title: "Margin", value: (d) => d.margin, cell: (d) => percent(d.margin), number: true},
    some("pvalue") && {key: "pvalue", title: "p-value", value: (d) => d.pvalue, cell: (d) => pvalue(d.pvalue), number: true},
    some("frequency") && {key: "frequency", title: "Comes back", value: (d) => d.frequency, cell: (d) => percent(d.frequency), number: true},
    data.picks.some((d) => d.n_columns > 1) && {key: "columns", title: "Columns", value: (d) => d.n_columns, cell: columnsCell},
    new Set(data.picks.map((d) => d.round)).size < data.picks.length && {key: "round", title: "Round", value: (d) => d.round, cell: (d) => String(d.round), number: true},
    data.has_stand_ins && {key: "stand_ins", title: "Stand-ins", value: (d) => d.stand_ins[0]?.keeps ?? null, cell: standInCell},
  ].filter(Boolean);
}

function scoreCell(d) {
  const bar = element("span", {class: "bar", "aria-hidden": "true"});
  bar.style.setProperty("--share", d.score ?? 0);
  return [decimal(d.score), bar];
}

function standInCell(d) {
  if (!d.stand_ins.length) return "–";
  const items = d.stand_ins.map((s) => element("li", {}, nameNode(s.name, 24), element("span", {class: "quiet"}, ` ${percent(s.keeps)}`)));
  return element("ul", {class: "inline best-first"}, items);
}

function columnsCell(d) {
  const more = d.n_columns - d.columns.length;
  const items = d.columns.map((name) => element("li", {}, nameNode(name, 24)));
  if (more > 0) items.push(element("li", {class: "quiet"}, `and ${counted.format(more)} more`));
  return element("ul", {class: "inline"}, items);
}

function flagList(d) {
  return d.flags.length ? element("ul", {class: "inline flags"}, d.flags.map((flag) => element("li", {class: "chip"}, flag))) : null;
}

function pickTable(data) {
  const columns = pickColumns(data);
  const state = {by: columns[0], down: false, query: "", page: 0, open: null, everything: false};
  const haystack = new Map(data.picks.map((d) => [d, fold([d.name, ...d.flags, ...(d.columns ?? []), ...d.stand_ins.map((s) => s.name)].join("\n"))]));
  const body = element("tbody");
  const heads = columns.map((column) => {
    const button = element("button", {type: "button", onclick: () => sortBy(column)}, column.title, element("span", {class: "arrow", "aria-hidden": "true"}));
    return element("th", {scope: "col", class: column.number && "number"}, button);
  });
  const search = element("input", {type: "search", id: "search", autocomplete: "off", spellcheck: "false", oninput: () => {
    state.query = search.value;
    state.page = 0;
    render();
    announce(shownCount());
  }});
  const count = element("p", {class: "quiet", id: "count"});
  const others = element("div", {id: "others"});
  const folded = (data.not_picked ?? []).map(fold);
  const standsFor = new Map();
  for (const d of data.picks) for (const s of d.stand_ins) standsFor.set(s.name, [...(standsFor.get(s.name) ?? []), d.rank]);
  const pager = element("div", {class: "pager"});
  let matching = [];

  function sortBy(column) {
    state.down = state.by === column ? !state.down : false;
    state.by = column;
    state.page = 0;
    render();
    announce(`Sorted by ${column.title}, ${state.down ? "descending" : "ascending"}.`);
  }

  function compare(a, b) {
    const [x, y] = [state.by.value(a), state.by.value(b)];
    if (x === null || y === null) return (x === null) - (y === null) || a.rank - b.rank; // unknown last
    const order = typeof x === "string" ? x.localeCompare(y, undefined, {numeric: true}) : x - y;
    return (state.down ? -order : order) || a.rank - b.rank;
  }

  const nPages = () => (state.everything ? 1 : Math.max(1, Math.ceil(matching.length / PAGE_ROWS)));

  function shownCount() {
    const found = plural(matching.length, "pick");
    return matching.length === data.picks.length ? `${found}.` : `${found} of ${data.picks.length} match.`;
  }

  function render() {
    const words = fold(state.query).trim().split(/\s+/);
    const matches = (text) => words.every((word) => text.includes(word));
    matching = data.picks.filter((d) => matches(haystack.get(d))).sort(compare);
    renderOthers(words[0] ? folded.flatMap((text, i) => (matches(text) ? [data.not_picked[i]] : [])) : []);
    const first = state.everything ? 0 : state.page * PAGE_ROWS;
    const page = state.everything ? matching : matching.slice(first, first + PAGE_ROWS);
    body.replaceChildren(...page.flatMap(rows));
    if (!page.length) body.append(element("tr", {}, element("td", {colspan: columns.length, class: "quiet"}, "No pick matches.")));
    heads.forEach((head, i) => {
      if (columns[i] === state.by) head.setAttribute("aria-sort", state.down ? "descending" : "ascending");
      else head.removeAttribute("aria-sort");
    });
    count.textContent = shownCount();
    renderPager(first, page.length);
  }

  function renderOthers(found) {
    const item = (name) => {
      const ranks = standsFor.get(name);
      return element("li", {}, nameNode(name, 36), ranks && element("span", {class: "quiet"}, ` (stand-in for pick ${ranks.join(", ")})`));
    };
    const more = found.length > OTHERS ? element("li", {class: "quiet"}, `and ${counted.format(found.length - OTHERS)} more`) : null;
    others.replaceChildren(...(found.length ? [element("p", {}, `${plural(found.length, "candidate")} of that name ${found.length === 1 ? "was" : "were"} not picked:`), element("ul", {class: "inline names"}, found.slice(0, OTHERS).map(item), more)] : []));
  }

  function renderPager(first, n) {
    pager.replaceChildren();
    if (nPages() === 1) return;
    pager.append(...pageButtons(state.page, nPages(), `${first + 1} to ${first + n} of ${matching.length}`, "picks", (to) => {
      state.page = to;
      render();
    }));
  }

  function rows(d) {
    const isOpen = state.open === d.rank;
    const id = `details-${d.rank}`;
    const button = element("button", {type: "button", class: "disclose", id: `pick-${d.rank}`, "aria-expanded": String(isOpen), "aria-controls": isOpen ? id : null, onclick: () => toggle(d)}, nameNode(d.name, 36));
    const cells = columns.map((column) => column.row
      ? element("th", {scope: "row"}, button, flagList(d))
      : element("td", {class: column.number && "number"}, column.cell(d)));
    const row = element("tr", {class: isOpen && "open"}, cells);
    return isOpen ? [row, element("tr", {class: "details", id}, element("td", {colspan: columns.length}, pickDetails(data, d)))] : [row];
  }

  function toggle(d) {
    state.open = state.open === d.rank ? null : d.rank;
    render();
    document.getElementById(`pick-${d.rank}`)?.focus();
  }

  // From a chart: show the pick, wherever the table has it.
  document.addEventListener("pick", ({detail: rank}) => {
    search.value = state.query = "";
    state.open = rank;
    render();
    state.page = Math.floor(matching.findIndex((d) => d.rank === rank) / PAGE_ROWS);
    render();
    const button = document.getElementById(`pick-${rank}`);
    button.focus({preventScroll: true});
    button.scrollIntoView({block: "center"});
  });
  addEventListener("beforeprint", () => { state.everything = true; render(); });
  addEventListener("afterprint", () => { state.everything = false; render(); });

  render();
  return element("div", {class: "stack"},
    element("div", {class: "bar-of-tools"}, element("label", {for: "search"}, "Search"), search, count),
    element("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": "Table of picks"},
      element("table", {class: "picks"},
        element("caption", {class: "hidden"}, "Picks. The buttons of the head sort; the button of a row shows its details."),
        element("thead", {}, element("tr", {}, heads)), body)),
    pager, others);
}

function pageButtons(page, nPages, text, what, go) {
  const button = (label, to, sign) => element("button", {type: "button", class: "plain", "aria-label": `${label} ${what}`, disabled: to < 0 || to >= nPages, onclick: (event) => {
    const {parentNode} = event.currentTarget;
    go(to);
    const again = [...parentNode.querySelectorAll("button")];
    (again[sign === "‹" ? 0 : 1]?.disabled ? again.find((b) => !b.disabled) : again[sign === "‹" ? 0 : 1])?.focus();
    announce(parentNode.querySelector("span")?.textContent ?? "");
  }}, sign);
  return [button("Previous", page - 1, "‹"), element("span", {}, `${what[0].toLocaleUpperCase()}${what.slice(1)} ${text}`), button("Next", page + 1, "›")];
}

// What a pick adds, and what could stand in for it.
function pickDetails(data, d) {
  const parts = [];
  if (d.name.length > 36) parts.push(element("p", {class: "whole-name", tabindex: "0", role: "group", "aria-label": "Whole name"}, element("bdi", {}, shown(d.name))));
  if (data.explained) {
    const values = data.explained.values[d.rank - 1];
    const items = values.map((value, j) => ({value, name: data.explained.outputs[j]})).sort((a, b) => b.value - a.value).slice(0, 8);
    const label = `What it adds: ${items.slice(0, 3).map((s) => `${percent(s.value)} of ${shortened(s.name)}`).join(", ")}.`;
    parts.push(element("div", {}, element("h4", {}, "What it adds to the outputs"), chart(label, (width) => drawShares(items, width, "Share of the output (%)"))));
  }
  if (data.has_stand_ins) {
    const rows = d.stand_ins.map((s) => element("tr", {}, element("th", {scope: "row"}, nameNode(s.name)), element("td", {class: "number"}, decimal(s.closeness)), element("td", {class: "number"}, percent(s.keeps))));
    parts.push(element("div", {}, element("h4", {}, "What could stand in for it"),
      rows.length ? simpleTable(["Variable", "Closeness", "Keeps of the score"], rows) : element("p", {class: "quiet"}, "Nothing that was left out is close.")));
  }
  return element("div", {class: "pick-details"}, parts);
}

function simpleTable(titles, rows, caption) {
  return element("table", {class: "simple"},
    caption && element("caption", {class: "hidden"}, caption),
    element("thead", {}, element("tr", {}, titles.map((title, i) => element("th", {scope: "col", class: i > 0 && "number"}, title)))),
    element("tbody", {}, rows));
}
