// The page is put together here.

const data = JSON.parse(document.getElementById("data").textContent);

function setTheme(theme) {
  if (theme === "system") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}

for (const input of document.querySelectorAll("#theme input")) {
  input.checked = input.value === "system"; // browsers restore forms, and the page begins anew
  input.addEventListener("change", () => setTheme(input.value));
}

const parts = [summarySection(data), checksSection(data), picksSection(data), explainedSection(data), cvSection(data), stabilitySection(data), repeatSection(data)].filter(Boolean);
document.getElementById("main").replaceChildren(...parts);
document.getElementById("sections").replaceChildren(...parts.slice(1).map((part) => element("li", {}, element("a", {href: `#${part.id}`}, part.querySelector("h2").textContent))));
document.getElementById("made").textContent = `Made by projse ${data.repeat.versions[0].version} on ${data.made.replace("T", " ").replace("+00:00", " UTC")}. Charts by Observable Plot.`;
document.title = `${headline(data)} – projse`;

// On paper, closed details would be missing, and charts have the width of the paper.
const PAPER_WIDTH = 700;
let closed = [];
addEventListener("beforeprint", () => {
  for (const place of document.querySelectorAll(".chart")) place.drawAt(PAPER_WIDTH);
  closed = [...document.querySelectorAll("details:not([open]):not(.no-print)")];
  for (const details of closed) details.open = true;
});
addEventListener("afterprint", () => {
  for (const place of document.querySelectorAll(".chart")) place.redraw();
  for (const details of closed) details.open = false;
});
document.documentElement.dataset.ready = "yes";
