// Charts, drawn by Observable Plot. Colours are variables of the style sheet, so that a change of
// theme and the printed page need no new drawing.

const NAMED_BARS = 40; // more picks than this are drawn as points, without names
const MAP_ROWS = 40;
const CELL_WIDTH = 44;
const MOST_LABEL = 210; // pixels of a name beside a chart, at most

const INK = "var(--ink)", MUTED = "var(--muted)", ACCENT = "var(--accent)", LINE = "var(--line)", SECOND = "var(--second)";

// A place that draws itself again when its width changes.
function chart(label, draw) {
  const place = element("div", {class: "chart", role: "img", "aria-label": label});
  let width = 0;
  place.redraw = () => place.drawAt(Math.max(width, 260));
  place.drawAt = (pixels) => {
    const drawn = draw(pixels);
    drawn.setAttribute("aria-hidden", "true"); // the place has the text alternative
    place.replaceChildren(drawn);
  };
  new ResizeObserver(([{contentRect}]) => {
    if (contentRect.width < 100 || Math.abs(contentRect.width - width) < 1) return; // not shown, or no change
    width = contentRect.width;
    requestAnimationFrame(place.redraw);
  }).observe(place);
  return place;
}

function figure(title, text, ...content) {
  return element("figure", {}, element("figcaption", {}, element("h3", {}, title), text && element("p", {}, text)), ...content);
}

const FONT = 'system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans", sans-serif';
const ruler = document.createElement("canvas").getContext("2d");

function pixels(text) {
  ruler.font = `12px ${FONT}`;
  return ruler.measureText(text).width;
}

// Names beside a chart: each cut to what there is room for, and the room that they take.
function labels(names, width, most = MOST_LABEL) {
  const room = Math.min(most, width * 0.4);
  const texts = names.map((name) => {
    let length = 40, text = shortened(name, length);
    while (pixels(text) > room && length > 4) text = shortened(name, (length -= 2));
    return text;
  });
  return {texts, space: Math.ceil(Math.max(20, ...texts.map(pixels))) + 12};
}

const withRank = (d) => `${d.rank}. ${d.name.trim() === "" ? shown(d.name) : d.name}`;

const common = {style: {fontFamily: FONT, fontSize: "12px", background: "transparent", color: INK, overflow: "visible"}};

// Close calls are many in most tables, and have their chip there.
const isDoubtful = (d) => d.flags.includes("tie") || d.flags.includes("may be chance");

// One value a pick: horizontal bars with names for a few, points by rank for many.
function drawPicks(picks, measure, width) {
  const known = picks.filter((d) => measure.value(d) !== null);
  if (!known.length) return element("p", {class: "quiet"}, "No values to draw.");
  const title = (d) => `${d.rank}. ${shortened(d.name)}\n${measure.label}: ${measure.format(measure.raw ? measure.raw(d) : measure.value(d))}`;
  const fill = (d) => (isDoubtful(d) ? SECOND : ACCENT);
  let drawn;
  const rule = measure.rule === undefined ? [] : measure.rule;
  if (known.length <= NAMED_BARS) {
    const {texts, space} = labels(known.map(withRank), width);
    const name = new Map(known.map((d, i) => [d.rank, texts[i]]));
    drawn = Plot.plot({
      ...common, width, height: 22 * known.length + 54, marginLeft: space, marginRight: 56, marginTop: 44, marginBottom: 8,
      x: {label: measure.axis, labelOffset: 40, domain: measure.domain, axis: "top", grid: true, nice: true},
      y: {label: null, type: "band", domain: known.map((d) => d.rank), padding: 0.25},
      marks: [
        Plot.axisY({tickFormat: (rank) => name.get(rank), tickSize: 0, label: null}),
        Plot.barX(known, {x: measure.value, y: "rank", fill, rx: 2, title, tip: tipStyle}),
        Plot.text(known, {x: measure.value, y: "rank", text: (d) => measure.format(measure.raw ? measure.raw(d) : measure.value(d)), textAnchor: "start", dx: 5, fill: INK, fontVariant: "tabular-nums"}),
        Plot.ruleX(rule, {stroke: INK, strokeDasharray: "4 3"}),
        Plot.ruleX([0], {stroke: MUTED}),
      ],
    });
  } else {
    drawn = Plot.plot({
      ...common, width, height: 320, marginLeft: 52, marginTop: 28, marginBottom: 40,
      x: {label: "Rank", tickFormat: "d"},
      y: {label: measure.axis, domain: measure.domain, grid: true, nice: true},
      marks: [
        Plot.ruleY([0], {stroke: MUTED}),
        Plot.lineY(known, {x: "rank", y: measure.value, stroke: LINE}),
        Plot.dot(known, {x: "rank", y: measure.value, fill, r: 3, title, tip: {...tipStyle, pointer: "x"}}),
        Plot.ruleY(rule, {stroke: INK, strokeDasharray: "4 3"}),
      ],
    });
  }
  drawn.addEventListener("click", () => drawn.value && document.dispatchEvent(new CustomEvent("pick", {detail: drawn.value.rank})));
  return drawn;
}

const tipStyle = {fill: "var(--raised)", stroke: "var(--line)", fontSize: 12, textPadding: 9, lineWidth: 28};

// Shades between the stops of the theme, by share.
function shade(share) {
  const place = Math.max(0, Math.min(1, share)) * 4;
  const step = Math.min(3, Math.floor(place));
  return `color-mix(in oklab, var(--heat-${step + 1}) ${Math.round(100 * (place - step))}%, var(--heat-${step}))`;
}

// Cells of picks (rows) by outputs (columns), both given as what is on the page of the map.
function drawMap(rows, columns, cells, most, width) {
  const {texts, space} = labels(rows.map(withRank), width);
  const right = 64; // for the last label, which leans out
  const each = Math.min(90, (width - space - right) / columns.length);
  const heads = labels(columns.map((d) => d.name), width, 110);
  const top = 0.66 * heads.space + 16;
  const rowName = new Map(rows.map((d, i) => [d.rank, texts[i]]));
  const columnName = new Map(columns.map((d, i) => [d.at, heads.texts[i]]));
  const share = (d) => d.value / most;
  return Plot.plot({
    ...common, width: space + right + each * columns.length, height: 24 * rows.length + top + 8,
    marginLeft: space, marginRight: right, marginTop: top, marginBottom: 8,
    x: {type: "band", domain: columns.map((d) => d.at), padding: 0.04, label: null},
    y: {type: "band", domain: rows.map((d) => d.rank), padding: 0.06, label: null},
    color: {type: "identity"},
    marks: [
      Plot.axisY({tickFormat: (rank) => rowName.get(rank), tickSize: 0, label: null}),
      Plot.axisX({anchor: "top", tickFormat: (at) => columnName.get(at), tickSize: 0, tickRotate: -40, label: null, textAnchor: "start", dx: 4}),
      Plot.cell(cells, {
        x: "column", y: "row", fill: (d) => shade(share(d)), rx: 2, tip: tipStyle,
        title: (d) => `${shortened(d.pick, 40)}\nadds ${percent(d.value)} of\n${shortened(d.output, 40)}`,
      }),
      each < 30 ? null : Plot.text(cells, {
        x: "column", y: "row", text: (d) => (d.value < 0.005 ? "" : (100 * d.value).toFixed(0)),
        fill: (d) => (share(d) > 0.55 ? "var(--heat-high)" : "var(--heat-low)"), pointerEvents: "none", fontVariant: "tabular-nums",
      }),
    ],
  });
}

// A short list of shares with names.
function drawShares(items, width, axis) {
  const {texts, space} = labels(items.map((d) => d.name), width);
  return Plot.plot({
    ...common, width, height: 20 * items.length + 48, marginLeft: space, marginRight: 44, marginTop: 44, marginBottom: 4,
    x: {label: axis, labelOffset: 40, axis: "top", grid: true, ticks: 4, percent: true, domain: [0, Math.max(...items.map((d) => d.value)) * 100 || 1]},
    y: {type: "band", domain: items.map((d, i) => i), padding: 0.25, label: null},
    marks: [
      Plot.axisY({tickFormat: (i) => texts[i], tickSize: 0, label: null}),
      Plot.barX(items, {x: "value", y: (d, i) => i, fill: ACCENT, rx: 2}),
      Plot.text(items, {x: "value", y: (d, i) => i, text: (d) => percent(d.value), textAnchor: "start", dx: 5, fill: INK}),
      Plot.ruleX([0], {stroke: MUTED}),
    ],
  });
}

function drawCurves(cv, width) {
  const points = cv.curves.flatMap(({params, points}) => points.map((d) => ({...d, params}))).filter((d) => d.mean !== null);
  const chosen = points.filter((d) => d.params === cv.chosen);
  const others = points.filter((d) => d.params !== cv.chosen);
  const low = Math.min(0, ...chosen.map((d) => d.mean - (d.error ?? 0)));
  const title = (d) => `${plural(d.n, "variable")}\nscore ${decimal(d.mean)} ± ${decimal(d.error)}\n${shortened(d.params, 60)}`;
  return Plot.plot({
    ...common, width, height: 320, marginLeft: 52, marginTop: 28, marginBottom: 40,
    x: {label: "Number of variables", tickFormat: "d"},
    y: {label: "Held-out score", grid: true, nice: true, domain: [low, Math.max(...points.map((d) => d.mean + (d.error ?? 0)))]},
    clip: true,
    marks: [
      Plot.ruleY([0], {stroke: MUTED}),
      Plot.areaY(chosen, {x: "n", y1: (d) => d.mean - (d.error ?? 0), y2: (d) => d.mean + (d.error ?? 0), fill: ACCENT, fillOpacity: 0.18}),
      Plot.lineY(others, {x: "n", y: "mean", z: "params", stroke: MUTED, strokeOpacity: 0.6, strokeDasharray: "3 3", clip: true}),
      Plot.lineY(chosen, {x: "n", y: "mean", stroke: ACCENT, strokeWidth: 2.5}),
      Plot.ruleX([cv.n_features], {stroke: SECOND, strokeWidth: 1.5}),
      Plot.dot(chosen.filter((d) => d.n === cv.n_features), {x: "n", y: "mean", fill: SECOND, stroke: "var(--surface)", r: 6}),
      Plot.dot(points, {x: "n", y: "mean", r: 2.5, fill: ACCENT, fillOpacity: (d) => (d.params === cv.chosen ? 1 : 0), title, tip: {...tipStyle, pointer: "xy"}, clip: true}),
    ],
  });
}

function drawFrequencies(items, threshold, width) {
  const {texts, space} = labels(items.map((d) => d.name), width);
  return Plot.plot({
    ...common, width, height: 20 * items.length + 50, marginLeft: space, marginRight: 20, marginTop: 44, marginBottom: 6,
    x: {labelOffset: 40, label: "Share of the resamples that select it (%)", axis: "top", percent: true, domain: [0, 100], grid: true},
    y: {type: "band", domain: items.map((d, i) => i), padding: 0.3, label: null},
    marks: [
      Plot.axisY({tickFormat: (i) => texts[i], tickSize: 0, label: null}),
      Plot.barX(items, {
        x: "frequency", y: (d, i) => i, fill: (d) => (d.picked ? ACCENT : "var(--bar-quiet)"), rx: 2, tip: tipStyle,
        title: (d) => `${shortened(d.name)}\n${percent(d.frequency)} of the resamples\nbetween ${percent(d.low)} and ${percent(d.high)}\n${d.picked ? "picked" : "not picked"}`,
      }),
      Plot.link(items, {x1: "low", x2: "high", y1: (d, i) => i, y2: (d, i) => i, stroke: "var(--surface)", strokeWidth: 5}),
      Plot.link(items, {x1: "low", x2: "high", y1: (d, i) => i, y2: (d, i) => i, stroke: INK, strokeWidth: 1.5}),
      Plot.ruleX([threshold], {stroke: SECOND, strokeDasharray: "4 3", strokeWidth: 1.5}),
    ],
  });
}

function drawPath(path, width) {
  const points = path.map((value, i) => ({n: i + 1, value})).filter((d) => d.value !== null);
  return Plot.plot({
    ...common, width, height: 240, marginLeft: 52, marginTop: 28, marginBottom: 40,
    x: {label: "First picks", tickFormat: "d"},
    y: {label: "Stability", grid: true, domain: [Math.min(0, ...points.map((d) => d.value)), 1]},
    marks: [
      Plot.ruleY([0], {stroke: MUTED}),
      Plot.lineY(points, {x: "n", y: "value", stroke: ACCENT, strokeWidth: 2}),
      Plot.dot(points, {x: "n", y: "value", fill: ACCENT, r: 3, title: (d) => `first ${d.n}: ${decimal(d.value)}`, tip: {...tipStyle, pointer: "x"}}),
    ],
  });
}
