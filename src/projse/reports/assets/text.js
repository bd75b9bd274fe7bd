"use strict";
// Text: names are data from strangers, and become text nodes, never markup.

const NAME_LENGTH = 48; // longer names are cut in the middle; details show them whole

// What cannot be seen or turns the text around is shown as an escape; joiners of scripts and emoji stay.
const UNSEEN = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Cs}\p{Co}\p{Zl}\p{Zp}]/gu;

function shown(text) {
  if (text.trim() === "") return `“${text.replace(UNSEEN, escaped)}”`;
  return text.replace(UNSEEN, escaped);
}

function escaped(character) {
  return `\\u{${character.codePointAt(0).toString(16)}}`;
}

function shortened(text, length = NAME_LENGTH) {
  if (text.length <= length) return shown(text);
  const head = Math.ceil((length - 1) * 0.6);
  const start = Array.from(text.slice(0, 2 * head)).slice(0, head).join("");
  const tail = length - 1 - head;
  const end = tail ? Array.from(text.slice(-2 * tail)).slice(-tail).join("") : "";
  return `${shown(start)}…${end && shown(end)}`;
}

function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (key.startsWith("on")) node.addEventListener(key.slice(2), value);
    else if (key in NODE_PROPERTIES) node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(...children.flat().filter((child) => child !== null && child !== undefined && child !== false));
  return node;
}
const NODE_PROPERTIES = {checked: 1, disabled: 1, value: 1, hidden: 1};

function nameNode(name, length) {
  return element("bdi", {class: "name"}, shortened(name, length));
}

// For searching: case and the way that accents are written do not matter.
const fold = (text) => text.normalize().toLocaleLowerCase();

const counted = new Intl.NumberFormat("en");
const plural = (n, one, many = `${one}s`) => `${counted.format(n)} ${n === 1 ? one : many}`;

function decimal(value, digits = 3) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}

function percent(value) {
  if (value === null || value === undefined) return "–";
  const share = 100 * value;
  if (share !== 0 && Math.abs(share) < 0.005) return "<\u00a00.01\u00a0%";
  return `${share !== 0 && Math.abs(share) < 1 ? share.toPrecision(2) : share.toFixed(Math.abs(share) < 10 ? 1 : 0)}\u00a0%`;
}

function pvalue(value) {
  if (value === null || value === undefined) return "–";
  if (value === 0) return "< 1e-300";
  return value < 0.001 ? value.toExponential(1) : value.toFixed(3);
}

function announce(text) {
  document.getElementById("status").textContent = text;
}
