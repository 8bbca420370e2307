(() => {
  const { digits, exact, small, short, sentences } = explorerWords;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const part = (name) => document.getElementById(`explorer-${name}`);
  const root = document.getElementById("explorer");
  const points = [...data.points, ...data.others]; // for each δ by increasing ε
  const deltas = [...new Set(points.map((point) => point.delta))].sort((a, b) => a - b);
  const curves = new Map(deltas.map((delta) => [delta, points.filter((point) => point.delta === delta)]));
  const logs = points.map((point) => Math.log(point.epsilon));
  const ends = [Math.min(...logs) - 0.05, Math.max(...logs) + 0.05];
  let now = curves.get(data.start.delta).find((point) => point.epsilon === data.start.epsilon); // a computed point
  let wish = Math.log(now.epsilon); // the ε chosen last: another δ may have other computed values

  function nearest(log, delta) { // the computed point of this δ with the nearest ε
    const off = (point) => Math.abs(Math.log(point.epsilon) - log);
    return curves.get(delta).reduce((best, point) => (off(point) < off(best) ? point : best));
  }
  const pickError = (point) => point.error;
  const pickMechanism = (name) => (point) => point.errors[name] ?? null;
  const pickTerm = (text) => (point) => point.terms[text] ?? null;
  const reaches = (pick, wanted) => (point) => pick(point) !== null && pick(point) <= wanted;

  // -- texts --------------------------------------------------------------------------------------

  function saySentences() {
    const said = sentences(now.epsilon, now.delta, Number(part("belief").value));
    for (const place of root.querySelectorAll("[data-say]")) {
      place.textContent = (place.dataset.before || "") + said[place.dataset.say];
    }
    for (const place of root.querySelectorAll("[data-when]")) {
      place.hidden = (place.dataset.when === "delta") !== now.delta > 0;
    }
  }
  const shown = (value) => (value === null || value === undefined ? "–" : short(value));
  function sayReadings() {
    part("error").textContent = shown(now.error);
    part("taken").textContent = `Chosen: ${now.chosen}.`;
    const pure = curves.has(0) && curves.get(0).find((point) => point.epsilon === now.epsilon);
    const [whole, real] = pure ? pure.bounds : [null, null];
    part("bound").textContent = real === null ? "" :
      "Lower bound at δ = 0: " + (whole === null ? "" : `${short(whole)} for integers, `) + `${short(real)} for real numbers.`;
    part("how").textContent = `${curves.get(now.delta).length} of ${data.values} values of epsilon were computed at this δ.`;
    root.querySelectorAll(".mechanisms tbody tr").forEach((row, i) => {
      row.cells[1].textContent = shown(pickMechanism(data.mechanisms[i])(now));
      row.classList.toggle("taken", data.mechanisms[i] === now.chosen);
    });
    part("terms").querySelectorAll("tbody tr").forEach((row, i) => {
      row.cells[1].textContent = shown(pickTerm(data.terms[i])(now));
    });
  }
  let found = null;
  function picked() {
    const index = part("measure").value;
    return index === "" ? pickError : pickTerm(data.terms[Number(index)]);
  }
  function sayNeeded() {
    const wanted = Number(part("wanted").value.replace(",", ".")), curve = curves.get(now.delta);
    const valid = part("wanted").value.trim() !== "" && wanted > 0 && wanted < Infinity;
    const at = valid ? curve.findIndex(reaches(picked(), wanted)) : -1;
    found = at < 0 ? null : curve[at];
    part("go").disabled = found === null;
    part("needed").textContent = valid ? inWords(picked(), curve, at) : "Give a number above 0.";
  }
  function inWords(pick, curve, at) {
    if (at < 0) return `Not reached at any computed ε with this δ; the largest is ${small(curve[curve.length - 1].epsilon)}.`;
    const enough = `ε = ${small(curve[at].epsilon)} is enough: there it is ${shown(pick(curve[at]))}.`;
    if (at === 0) return `${enough} It is the least computed ε with this δ.`;
    return `${enough} At ε = ${small(curve[at - 1].epsilon)}, the next smaller one computed, it is ${shown(pick(curve[at - 1]))}.`;
  }

  // -- the chart --------------------------------------------------------------------------------

  const SVG = part("chart").firstElementChild.namespaceURI; // the page contains an empty drawing
  const SHAPES = [
    "M-4,0A4,4 0 1 0 4,0A4,4 0 1 0 -4,0Z", "M-3.6,-3.6H3.6V3.6H-3.6Z", "M0,-4.6L4.6,3.6H-4.6Z",
    "M0,-5L5,0L0,5L-5,0Z", "M0,4.6L4.6,-3.6H-4.6Z", "M-1.6,-5H1.6V-1.6H5V1.6H1.6V5H-1.6V1.6H-5V-1.6H-1.6Z",
  ];
  function element(name, attributes, text) {
    const made = document.createElementNS(SVG, name);
    for (const key of Object.keys(attributes)) made.setAttribute(key, attributes[key]);
    if (text !== undefined) made.textContent = text;
    return made;
  }
  function valueRange() {
    const positive = points.flatMap((point) => [...Object.values(point.errors), point.bounds[0]]).filter((value) => value > 0);
    const high = positive.reduce((a, b) => Math.max(a, b), 0) || 1;
    const low = Math.max(positive.reduce((a, b) => Math.min(a, b), high), high / 1e7);
    return [Math.log(low) - 0.2, Math.log(high) + 0.2];
  }
  const range = valueRange();
  function ticks(low, high, most) { // powers of ten, with 2 and 5 if they fit
    const found = [];
    for (let power = Math.floor(low / Math.LN10); power <= Math.ceil(high / Math.LN10); power += 1) {
      for (const front of [1, 2, 5]) found.push({ front, value: Number(`${front}e${power}`), power });
    }
    const inside = found.filter((one) => Math.log(one.value) >= low && Math.log(one.value) <= high);
    const tens = inside.filter((one) => one.front === 1);
    const stride = Math.max(1, Math.ceil(tens.length / most));
    return inside.length <= most ? inside : tens.filter((one) => one.power % stride === 0);
  }
  let scale = null, drawn = 0;
  function draw() {
    const box = part("chart"), width = Math.max(240, box.clientWidth - 16);
    drawn = box.clientWidth;
    if (!drawn) return;
    const height = Math.round(Math.min(420, Math.max(250, 0.66 * width)));
    const inner = { left: 58, right: width - 12, top: 22, bottom: height - 40 };
    scale = {
      x: (log) => inner.left + ((log - ends[0]) / (ends[1] - ends[0])) * (inner.right - inner.left),
      y: (log) => inner.bottom - ((log - range[0]) / (range[1] - range[0])) * (inner.bottom - inner.top),
      back: (x) => ends[0] + ((x - inner.left) / (inner.right - inner.left)) * (ends[1] - ends[0]),
      scaled: width,
      inner,
    };
    const words = `Expected error against ε at δ = ${small(now.delta)}, marks at the computed points. The numbers are in the tables.`;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words });
    drawAxes(svg, width, height);
    const clip = element("clipPath", { id: "explorer-clip" });
    clip.append(element("rect", { x: inner.left, y: inner.top - 6, width: inner.right - inner.left + 6, height: inner.bottom - inner.top + 6 }));
    const lines = element("g", { "clip-path": "url(#explorer-clip)" });
    svg.append(clip, lines);
    const x = scale.x(Math.log(now.epsilon));
    lines.append(element("line", { x1: x, x2: x, y1: inner.top, y2: inner.bottom, class: "here" }));
    drawBound(lines, 1, "1 4");
    drawBound(lines, 0, "6 4");
    data.mechanisms.forEach((name, i) => drawMechanism(lines, name, i));
    box.replaceChildren(svg);
  }
  function drawAxes(svg, width, height) {
    const { left, right, top, bottom } = scale.inner;
    for (const one of ticks(ends[0], ends[1], Math.floor(width / 45))) {
      const x = scale.x(Math.log(one.value));
      svg.append(element("line", { x1: x, x2: x, y1: top, y2: bottom, class: "grid" }));
      svg.append(element("text", { x, y: bottom + 16, "text-anchor": "middle" }, digits(one.value)));
    }
    for (const one of ticks(range[0], range[1], Math.floor(height / 40))) {
      const y = scale.y(Math.log(one.value));
      svg.append(element("line", { x1: left, x2: right, y1: y, y2: y, class: "grid" }));
      svg.append(element("text", { x: left - 6, y: y + 4, "text-anchor": "end" }, short(one.value)));
    }
    svg.append(element("text", { x: (left + right) / 2, y: height - 6, "text-anchor": "middle" }, "ε"));
    svg.append(element("text", { x: 4, y: 12 }, data.in_rows ? "expected error, in rows" : "expected error"));
  }
  function path(points) {
    return points.map(([x, y], i) => `${i ? "L" : "M"}${x.toFixed(1)},${y.toFixed(1)}`).join("");
  }
  function placed(curve, pick) { // positions of the computed points
    return curve.filter((point) => pick(point) > 0).map((point) => [scale.x(Math.log(point.epsilon)), scale.y(Math.log(pick(point))), point]);
  }
  function drawBound(lines, kind, dashes) {
    const at = placed(curves.get(0) ?? [], (point) => point.bounds[kind]);
    lines.append(element("path", { d: path(at), class: "bound", "stroke-dasharray": dashes }));
  }
  function drawMechanism(lines, name, i) {
    const colour = data.colours[i % data.colours.length], at = placed(curves.get(now.delta), pickMechanism(name));
    if (!at.length) return;
    const dashes = i < SHAPES.length ? {} : { "stroke-dasharray": "8 3" };
    lines.append(element("path", { d: path(at), class: "curve", stroke: colour, ...dashes }));
    for (const [x, y, point] of at) {
      const look = point === now ? { size: 1.35, stroke: "#fff" } : { size: 0.75, stroke: "none" };
      const transform = `translate(${x},${y}) scale(${look.size})`;
      lines.append(element("path", { d: SHAPES[i % SHAPES.length], transform, fill: colour, stroke: look.stroke }));
    }
  }

  // -- moving -----------------------------------------------------------------------------------

  function place() { // update the controls
    const epsilon = part("epsilon"), delta = part("delta"), curve = curves.get(now.delta);
    epsilon.max = String(curve.length - 1);
    epsilon.disabled = curve.length < 2;
    epsilon.value = String(curve.indexOf(now));
    epsilon.setAttribute("aria-valuetext", `ε = ${small(now.epsilon)}`);
    delta.value = String(deltas.indexOf(now.delta));
    delta.setAttribute("aria-valuetext", `δ = ${small(now.delta)}`);
    part("slack").textContent = `δ = ${small(now.delta)}`;
    if (document.activeElement !== part("number")) part("number").value = exact(now.epsilon);
  }
  function show() {
    place();
    saySentences();
    sayReadings();
    sayNeeded();
    draw();
  }
  function go(log) {
    if (!Number.isFinite(log)) return;
    wish = log;
    now = nearest(log, now.delta);
    show();
  }
  function setDelta() {
    now = nearest(wish, deltas[Number(part("delta").value)]);
    show();
  }
  function typed() {
    const value = Number(part("number").value.replace(",", "."));
    if (value > 0 && value < Infinity) go(Math.log(value));
  }
  function click(event) {
    const box = part("chart").querySelector("svg").getBoundingClientRect();
    go(scale.back((event.clientX - box.left) * (scale.scaled / box.width)));
  }

  part("delta").max = String(deltas.length - 1);
  part("delta").disabled = deltas.length < 2;
  part("epsilon").addEventListener("input", () => go(Math.log(curves.get(now.delta)[Number(part("epsilon").value)].epsilon)));
  part("delta").addEventListener("input", setDelta);
  part("number").addEventListener("input", typed);
  part("number").addEventListener("change", () => { part("number").blur(); show(); });
  part("belief").addEventListener("change", saySentences);
  part("wanted").addEventListener("input", sayNeeded);
  part("measure").addEventListener("change", () => { startWanted(); sayNeeded(); });
  part("go").addEventListener("click", () => { if (found) go(Math.log(found.epsilon)); });
  part("chart").addEventListener("pointerdown", click);
  part("chart").addEventListener("pointermove", (event) => { if (event.buttons === 1) click(event); });
  function startWanted() { // start with a round number near the shown value
    const here = picked()(now);
    if (here > 0) part("wanted").value = String(Number(here.toPrecision(1)));
  }
  root.classList.add("on");
  for (const details of root.querySelectorAll("details")) details.open = false;
  startWanted();
  show();
  new ResizeObserver(() => { if (part("chart").clientWidth !== drawn) draw(); }).observe(part("chart"));
})();
