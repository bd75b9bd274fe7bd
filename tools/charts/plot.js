// What the report draws with; esbuild leaves out the rest of Observable Plot and d3.
export {
  areaY, axisX, axisY, barX, barY, cell, dot, gridX, gridY, lineY, link, plot, pointerX, ruleX, ruleY, text, tip,
} from "@observablehq/plot";
