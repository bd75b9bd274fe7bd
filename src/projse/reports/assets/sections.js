// Sections of the page, each made from its part of the data.

function section(id, title, ...content) {
  return element("section", {id, "aria-labelledby": `${id}-title`}, element("h2", {id: `${id}-title`}, title), ...content);
}

// What follows is written in sentences, so that it can be read aloud.
function headline({summary: s}) {
  const chosen = `${counted.format(s.n_picks)} of ${plural(s.n_candidates, "variable")}`;
  if (s.kind === "one view") return `${chosen}, chosen to stand for all of them`;
  if (s.kind === "classes") return `${chosen}, chosen to tell ${plural(s.n_outputs, "class", "classes")} apart`;
  return s.n_outputs === null ? `${chosen} chosen` : `${chosen}, chosen to explain ${plural(s.n_outputs, "output")}`;
}

function summarySection(data) {
  const s = data.summary;
  const looks = data.checks.filter((check) => check.status === "look").length;
  const tile = (value, label, href) => element("li", {class: "tile"}, element("strong", {}, value), href ? element("a", {href}, label) : element("span", {}, label));
  const tiles = [
    tile(counted.format(s.n_picks), `picked of ${counted.format(s.n_candidates)} candidates`),
    s.n_rows !== null && tile(counted.format(s.n_rows), "rows"),
    s.n_outputs !== null && s.kind !== "one view" && tile(counted.format(s.n_outputs), `${s.kind}${s.n_output_columns === s.n_outputs ? "" : ` in ${plural(s.n_output_columns, "column")}`}, of rank ${counted.format(s.rank)}`),
    s.explained !== null && tile(percent(s.explained), `of ${s.kind === "one view" ? "the other variables" : "the outputs"} explained, on average`),
    data.stability && tile(decimal(data.stability.index, 2), "stability (1: always the same set)", "#stability"),
    tile(String(looks), looks === 1 ? "check is worth a look" : "checks are worth a look", "#checks"),
  ].filter(Boolean);
  return element("section", {id: "summary", "aria-labelledby": "summary-title"},
    element("h1", {id: "summary-title"}, headline(data)),
    element("ul", {class: "tiles"}, tiles));
}

const SIGNS = {look: "!", fine: "✓", unknown: "?"};
const WORDS = {look: "Worth a look", fine: "Fine", unknown: "Could not be told"};

function checksSection(data) {
  const item = (check) => element("li", {class: `check ${check.status}`},
    element("span", {class: "sign", "aria-hidden": "true"}, SIGNS[check.status]),
    element("div", {}, element("h3", {}, element("span", {class: "hidden"}, `${WORDS[check.status]}: `), check.title), element("p", {}, check.text), nameList(check)));
  const looks = data.checks.filter((check) => check.status === "look");
  const others = data.checks.filter((check) => check.status !== "look");
  const fine = others.filter((check) => check.status === "fine").length;
  return section("checks", "What to be careful about",
    looks.length ? element("ul", {class: "checks"}, looks.map(item)) : element("p", {}, "Nothing was found that speaks against these picks."),
    others.length > 0 && element("details", {},
      element("summary", {}, `${plural(others.length, "other check")}: ${fine} fine, ${others.length - fine} could not be told`),
      element("ul", {class: "checks"}, others.map(item))),
    data.notes.length > 0 && element("details", {},
      element("summary", {}, `${plural(data.notes.length, "note")} from the fit`),
      element("ul", {class: "notes"}, data.notes.map((note) => element("li", {}, element("bdi", {}, shown(note)))))));
}

function nameList({names, n_names}) {
  if (!names.length) return null;
  const more = n_names > names.length ? element("li", {class: "quiet"}, `and ${counted.format(n_names - names.length)} more`) : null;
  return element("ul", {class: "inline names"}, names.map((name) => element("li", {}, nameNode(name, 36))), more);
}

function measures(data) {
  const has = (key) => data.picks.some((d) => d[key] !== null && d[key] !== undefined);
  const {significance} = data.summary;
  const strength = (d) => (d.pvalue === null ? null : -Math.log10(Math.max(d.pvalue, 1e-300)));
  return [
    {key: "score", label: "Score", axis: "Score", value: (d) => d.score, format: decimal, text: "How much of each pick the outputs explain, given the picks before it."},
    data.explained && {key: "along", label: "Explained so far", axis: "Share of the outputs explained (%)", value: (d) => 100 * data.explained.along[d.rank - 1], format: (v) => percent(v / 100), text: "Share of the outputs that a regression on the picks up to each one explains, on average. Where it levels off, more picks add little."},
    has("margin") && {key: "margin", label: "Margin", axis: "Lead over the runner-up (%)", value: (d) => (d.margin === null ? null : 100 * d.margin), format: (v) => percent(v / 100), text: "How far ahead of the runner-up each pick was. Near 0, the order is not decided by the data."},
    has("pvalue") && {key: "pvalue", label: "p-value", axis: "−log₁₀ p", value: strength, raw: (d) => d.pvalue, format: pvalue, rule: [-Math.log10(significance)], text: `Longer bars are less likely to be chance; the dashed line is p = ${significance}.`},
    has("frequency") && {key: "frequency", label: "Comes back", axis: "Share of the resamples (%)", value: (d) => 100 * d.frequency, format: (v) => percent(v / 100), domain: [0, 100], rule: [100 * data.stability.threshold], text: "How often each pick is selected again from other rows; the dashed line is the threshold."},
  ].filter(Boolean);
}

function describe(picks, measure) {
  const known = picks.filter((d) => measure.value(d) !== null);
  if (!known.length) return `${measure.label}: no values.`;
  const text = (d) => measure.format(measure.raw ? measure.raw(d) : measure.value(d));
  const [first, last] = [known[0], known[known.length - 1]];
  return `Chart of ${plural(known.length, "pick")}. ${measure.label}: ${text(first)} for the first, ${shortened(first.name)}; ${text(last)} for the last, ${shortened(last.name)}. The table below has all numbers.`;
}

// Radio buttons in a row; the browser moves between them with the arrow keys.
function segments(name, legend, options, change) {
  return element("fieldset", {class: "segments"}, element("legend", {class: "hidden"}, legend),
    options.map(({key, label}, i) => element("label", {}, element("input", {type: "radio", name, value: key, checked: i === 0, onchange: () => change(key)}), element("span", {}, label))));
}

function picksSection(data) {
  if (!data.picks.length) return section("picks", "Picks", element("p", {}, "No variable was selected."));
  const all = measures(data);
  let now = all[0];
  const text = element("p", {id: "measure"}, now.text);
  const place = chart(describe(data.picks, now), (width) => drawPicks(data.picks, now, width));
  const flagged = data.picks.some(isDoubtful);
  const choose = segments("measure", "What the chart shows", all, (key) => {
    now = all.find((measure) => measure.key === key);
    text.textContent = now.text;
    place.setAttribute("aria-label", describe(data.picks, now));
    place.redraw();
    announce(now.text);
  });
  return section("picks", "The picks",
    element("div", {class: "card"}, choose, text, place,
      flagged && legend([["accent", "clear"], ["second", "a tie, or may be chance"]])),
    element("div", {class: "card"}, pickTable(data), data.left_out.map((text) => element("p", {class: "quiet"}, text)), howToRead(data)));
}

function legend(entries) {
  return element("ul", {class: "legend", "aria-hidden": "true"}, entries.map(([kind, label]) => element("li", {class: `key ${kind}`}, label)));
}

function howToRead(data) {
  const terms = [
    ["Score", "Share of the variable, given the picks before it, that the outputs explain: 0 nothing, 1 all. Ridges shrink it, so compare scores within a report."],
    ["Correlation", "Square root of the score."],
    ["Margin", "How far the score is ahead of the runner-up's. Near 0 %, the runner-up would have done as well."],
    ["p-value", "How often the best of as many unrelated variables would be explained as well, given the picks before."],
    ["Round", "Picks of one round were chosen together; 0 means that the variable was given."],
    data.has_stand_ins && ["Stand-ins", "Variables left out that are closest to the pick given the other picks, and how much of its score each would keep in its place."],
    data.stability && ["Comes back", "Share of the resamples of the rows in which the variable is selected."],
  ].filter(Boolean);
  return element("details", {class: "no-print"}, element("summary", {}, "How to read the table"), element("dl", {}, terms.flatMap(([term, text]) => [element("dt", {}, term), element("dd", {}, text)])));
}

function explainedSection(data) {
  const e = data.explained;
  if (!e) return null;
  const state = {rows: 0, columns: 0, width: 0};
  const most = Math.max(1e-9, ...e.values.map((row) => Math.max(...row)));
  const outputs = e.outputs.map((name, at) => ({name, at}));
  const tools = element("div", {class: "bar-of-tools"});
  const nColumns = (width) => Math.max(3, Math.min(40, Math.floor(width * 0.62 / CELL_WIDTH)));
  let part = {rows: [], columns: []};
  const cut = (width) => {
    const wide = nColumns(width);
    const pages = [Math.ceil(data.picks.length / MAP_ROWS), Math.ceil(outputs.length / wide)];
    state.columns = Math.min(state.columns, pages[1] - 1);
    part = {rows: data.picks.slice(state.rows * MAP_ROWS).slice(0, MAP_ROWS), columns: outputs.slice(state.columns * wide).slice(0, wide)};
    const range = (list, page, size, n) => `${page * size + 1} to ${page * size + list.length} of ${counted.format(n)}`;
    tools.replaceChildren(
      ...(pages[0] > 1 ? [element("div", {class: "pager"}, pageButtons(state.rows, pages[0], range(part.rows, state.rows, MAP_ROWS, data.picks.length), "picks", (to) => { state.rows = to; redraw(); }))] : []),
      ...(pages[1] > 1 ? [element("div", {class: "pager"}, pageButtons(state.columns, pages[1], range(part.columns, state.columns, wide, outputs.length), "outputs", (to) => { state.columns = to; redraw(); }))] : []));
  };
  const place = chart("", (width) => {
    cut(width);
    const cells = part.rows.flatMap((d) => part.columns.map((output) => ({row: d.rank, column: output.at, pick: d.name, output: output.name, value: e.values[d.rank - 1][output.at]})));
    const top = cells.reduce((a, b) => (b.value > a.value ? b : a));
    place.setAttribute("aria-label", `Map of ${plural(part.rows.length, "pick")} by ${plural(part.columns.length, "output")}. The largest share is ${percent(top.value)}: ${shortened(top.pick)} adds it to ${shortened(top.output)}. The same numbers follow as a table.`);
    return drawMap(part.rows, part.columns, cells, most, width);
  });
  const numbers = element("details", {class: "no-print", ontoggle: () => fill()}, element("summary", {}, "The same as a table"));
  const fill = () => {
    numbers.querySelector(".scroll")?.remove();
    if (!numbers.open) return;
    const rows = part.rows.map((d) => element("tr", {}, element("th", {scope: "row"}, nameNode(d.name, 28)), part.columns.map((output) => element("td", {class: "number"}, percent(e.values[d.rank - 1][output.at])))));
    rows.push(element("tr", {class: "total"}, element("th", {scope: "row"}, "All picks"), part.columns.map((output) => element("td", {class: "number"}, percent(e.total[output.at])))));
    const titles = ["Variable", ...part.columns.map((output) => nameNode(output.name, 20))];
    numbers.append(element("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": "What each pick adds, as a table"}, simpleTable(titles, rows, "What each pick adds to each output")));
  };
  const redraw = () => { place.redraw(); fill(); };
  const left = e.n_outputs - e.outputs.length;
  const best = e.outputs.map((name, j) => ({name, value: e.total[j]})).slice(0, 15);
  const bestText = e.n_outputs > 15 ? `The 15 of ${counted.format(e.n_outputs)} outputs that are explained best.` : "By all picks together.";
  return section("explained", "What they explain",
    element("div", {class: "card"},
      figure("What each pick adds to each output", `Percent of the output's variance, by least squares in the order of the picks. A row shows what a pick is for.${left > 0 ? ` The ${counted.format(left)} outputs that are explained least are left out.` : ""}`, tools, place, scaleLegend(most), numbers)),
    element("div", {class: "card"},
      figure("How much of each output is explained", bestText, chart(`Bars of ${plural(best.length, "output")}: from ${percent(best[0].value)} of ${shortened(best[0].name)} to ${percent(best[best.length - 1].value)} of ${shortened(best[best.length - 1].name)}.`, (width) => drawShares(best, width, "Explained by all picks (%)")))));
}

function scaleLegend(most) {
  return element("p", {class: "scale", "aria-hidden": "true"}, "0 %", element("span", {class: "ramp"}), percent(most));
}

function cvSection({cv}) {
  if (!cv) return null;
  const rule = cv.rule === "1se" ? "the fewest variables within one standard error of the best score" : "the best score";
  const chosen = cv.curves.find((curve) => curve.params === cv.chosen) ?? cv.curves[0];
  const rows = chosen.points.map((d) => element("tr", {}, element("th", {scope: "row"}, String(d.n)), element("td", {class: "number"}, decimal(d.mean)), element("td", {class: "number"}, decimal(d.error))));
  return section("cv", "How many",
    element("div", {class: "card"}, figure(`${plural(cv.n_features, "variable")}, with a held-out score of ${decimal(cv.score)}`,
      `Cross-validation with ${cv.n_splits} folds chose ${rule}. The band is one standard error; dashed curves are other parameters that were tried.`,
      chart(`Curve of held-out scores by number of variables; the choice is ${plural(cv.n_features, "variable")} with ${decimal(cv.score)}. The numbers follow as a table.`, (width) => drawCurves(cv, width)),
      element("p", {class: "quiet"}, "Chosen parameters: ", element("code", {}, shown(cv.chosen))),
      element("details", {class: "no-print"}, element("summary", {}, "The chosen curve as a table"), simpleTable(["Variables", "Held-out score", "Standard error"], rows, "Held-out scores")))));
}

function stabilitySection({stability: s}) {
  if (!s) return null;
  const items = s.frequencies.slice(0, 30);
  const rows = s.frequencies.map((d) => element("tr", {}, element("th", {scope: "row"}, nameNode(d.name)), element("td", {class: "number"}, percent(d.frequency)), element("td", {class: "number"}, `${percent(d.low)} to ${percent(d.high)}`), element("td", {class: "number"}, d.picked ? "yes" : "no")));
  const falses = s.expected_false === null || s.expected_false >= s.n_stable / 2 ? "" : ` At most about ${decimal(s.expected_false, 1)} of the stable ones are expected to be unrelated.`;
  return section("stability", "How stable",
    element("div", {class: "card"}, figure(`Stability ${decimal(s.index, 2)}, between ${decimal(s.interval[0], 2)} and ${decimal(s.interval[1], 2)}`,
      `The selection was repeated on ${plural(s.n_resamples, "resample")} of the rows. 1 means the same set each time, 0 as good as random. ${plural(s.n_stable, "variable")} came back in at least ${percent(s.threshold)} of them (dashed line).${falses}`,
      chart(`Bars of how often the ${items.length} most frequent variables come back, from ${percent(items[0]?.frequency)} down. The numbers follow as a table.`, (width) => drawFrequencies(items, s.threshold, width)),
      legend([["accent", "picked"], ["bar-quiet", "not picked"], ["whisker", `interval of ${percent(s.confidence)}`]]),
      element("details", {class: "no-print"}, element("summary", {}, "The same as a table"), element("div", {class: "scroll", role: "region", tabindex: "0", "aria-label": "Selection frequencies"}, simpleTable(["Variable", "Comes back", "Interval", "Picked"], rows, "Selection frequencies"))))),
    s.path.length > 1 && element("div", {class: "card"}, figure("Stability of the first picks", "Where it falls, later picks depend on the rows at hand.", chart(`Curve of the stability of the first 1 to ${s.path.length} picks.`, (width) => drawPath(s.path, width)))));
}

function repeatSection({repeat: r, summary: s}) {
  const code = (title, text) => text && element("div", {class: "code"}, element("h3", {}, title),
    element("pre", {tabindex: "0", role: "region", "aria-label": title}, element("code", {}, element("bdi", {}, shownLines(text)))), copyButton(text, title));
  const facts = (title, entries) => element("div", {}, element("h3", {}, title), element("dl", {class: "facts"}, entries.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])));
  const hash = (value, missing) => (value === null ? missing : element("code", {class: "hash"}, value));
  const changed = r.parameters.map(({name, value, became}) => [name, element("code", {}, shown(value) + (became === null || became === value ? "" : ` → ${shown(became)}`))]);
  return section("repeat", "Repeat it", element("div", {class: "card stack"},
    code("Command", r.command), code("In Python", r.python),
    element("div", {class: "columns"},
      facts("Data", [
        ["Rows", s.n_rows === null ? "not kept by this fit" : counted.format(s.n_rows)], ["Candidates", counted.format(s.n_candidates)],
        ["Outputs", s.kind === "one view" ? "one view" : s.n_outputs === null ? "not kept by this fit" : counted.format(s.n_outputs)],
        ["SHA-256 of the names", hash(r.data.names, "the columns have no names")], ["SHA-256 of the rounded moments", hash(r.data.moments, "not kept by this fit")]]),
      facts("Versions", r.versions.map(({name, version}) => [name, version]))),
    element("details", {}, element("summary", {}, "All parameters"), element("dl", {class: "facts"}, changed.flatMap(([name, value]) => [element("dt", {}, name), element("dd", {}, value)])))));
}

function shownLines(text) {
  return text.split("\n").map((line) => shown(line)).join("\n").replaceAll("“”", "");
}

function copyButton(text, what) {
  return element("button", {type: "button", class: "plain copy no-print", "aria-label": `Copy: ${what}`, onclick: async (event) => {
    const button = event.currentTarget;
    try {
      await navigator.clipboard.writeText(text);
      button.textContent = "Copied";
    } catch {
      getSelection().selectAllChildren(button.previousElementSibling);
      button.textContent = "Selected";
    }
    announce(button.textContent);
  }}, "Copy");
}
