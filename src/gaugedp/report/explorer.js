(() => {
  const { digits, small, short, upTo, sentences } = explorerWords;
  const data = JSON.parse(document.getElementById("explorer-data").textContent);
  const part = (name) => document.getElementById(`explorer-${name}`);
  const root = document.getElementById("explorer");
  const SAME = 1e-9, FINE = 5, SLACK_FINE = 10; // steps of a slider between two computed points
  const epsilons = data.epsilons, logs = epsilons.map(Math.log), last = epsilons.length - 1;
  const slacks = data.deltas.slice(1);
  const now = { x: Math.log(data.start.epsilon), delta: data.start.delta };

  // -- reading curves ---------------------------------------------------------------------------

  // A reading is {value, exact}; null where nothing was computed on both sides. Beside a 0 the larger value holds.
  function between(low, high, share) {
    if (low === null || high === null) return null;
    if (low.value <= 0 || high.value <= 0) return { value: Math.max(low.value, high.value), exact: false, flat: true };
    const value = Math.exp((1 - share) * Math.log(low.value) + share * Math.log(high.value));
    return { value, exact: false };
  }
  function along(at, values, x) {
    let low = null;
    for (let i = 0; i < at.length; i += 1) {
      if (values[i] === null) continue;
      const place = logs[at[i]], point = { value: values[i], exact: true };
      if (Math.abs(place - x) < SAME) return point;
      if (place > x) return low && between(low.point, point, (x - low.place) / (place - low.place));
      low = { place, point };
    }
    return null;
  }
  function sides(delta) { // the computed curves at or around δ
    const near = data.curves.findIndex((one) => one.delta >= delta * (1 - SAME));
    const high = data.curves[near < 0 ? data.curves.length - 1 : near];
    if (near <= 0 || Math.abs(high.delta - delta) <= SAME * delta) return [high];
    return [data.curves[near - 1], high];
  }
  function read(pick, x, delta) {
    const [low, high] = sides(delta);
    const first = along(low.at, pick(low), x);
    if (!high) return first;
    const share = Math.log(delta / low.delta) / Math.log(high.delta / low.delta);
    return between(first, along(high.at, pick(high), x), share);
  }
  function taken(x, delta) { // the mechanisms that are taken at the computed points around
    const found = new Set();
    for (const curve of sides(delta)) {
      const places = curve.at.map((i) => logs[i]);
      const same = places.findIndex((place) => Math.abs(place - x) < SAME);
      const next = places.findIndex((place) => place > x);
      const around = same >= 0 ? [same] : next < 0 ? [places.length - 1] : [Math.max(0, next - 1), next];
      around.forEach((i) => found.add(curve.chosen[i]));
    }
    return [...found];
  }
  function bound(kind, x) { // the proved bound of the next larger ε holds here too
    const at = data.bounds.at.findIndex((i) => logs[i] >= x - SAME);
    return at < 0 ? null : data.bounds[kind][at];
  }
  const pickError = (curve) => curve.error;
  const pickMechanism = (i) => (curve) => curve.errors[i];
  const pickWidth = (i) => (curve) => curve.widths[i];

  function needed(pick, wanted, delta) { // the least ε that reaches an error, and the next computed one
    let before = null;
    for (let i = 0; i <= last; i += 1) {
      const here = read(pick, logs[i], delta);
      if (here === null) continue;
      if (here.value <= wanted) {
        if (before === null) return { x: logs[i], next: i, first: true };
        const drop = here.value > 0 ? Math.log(before.value / here.value) : 0;
        const share = drop > 0 ? Math.min(1, Math.log(before.value / wanted) / drop) : 1;
        return { x: before.place + share * (logs[i] - before.place), next: i, first: false };
      }
      before = { place: logs[i], value: here.value };
    }
    return null;
  }

  // -- what is said -----------------------------------------------------------------------------

  function saySentences() {
    const said = sentences(Math.exp(now.x), now.delta, Number(part("belief").value));
    for (const place of root.querySelectorAll("[data-say]")) {
      place.textContent = (place.dataset.before || "") + said[place.dataset.say];
    }
    for (const place of root.querySelectorAll("[data-when]")) {
      place.hidden = (place.dataset.when === "delta") !== now.delta > 0;
    }
  }
  const shown = (reading) => (reading === null ? "–" : short(reading.value));
  function sayReadings() {
    const error = read(pickError, now.x, now.delta), names = taken(now.x, now.delta);
    part("error").textContent = shown(error);
    const words = names.map((i) => data.mechanisms[i]).join(" or ");
    part("taken").textContent = names.length > 1 ? `Chosen: ${words}; it changes near here.` : `Chosen: ${words}.`;
    const whole = bound("whole", now.x), real = bound("real", now.x);
    part("bound").textContent = real === null ? "" :
      "Lower bound at δ = 0: " + (whole === null ? "" : `${short(whole)} for whole numbers, `) + `${short(real)} for real numbers.`;
    part("how").textContent = error === null ? "Nothing could be computed here." :
      error.exact ? "Computed at this point." : "Interpolated between computed points.";
    sayTables(names);
  }
  function sayTables(names) {
    root.querySelectorAll(".mechanisms tbody tr").forEach((row, i) => {
      row.cells[1].textContent = shown(read(pickMechanism(i), now.x, now.delta));
      row.classList.toggle("taken", names.includes(i));
    });
    part("terms").querySelectorAll("tbody tr").forEach((row, i) => {
      row.cells[1].textContent = shown(read(pickWidth(i), now.x, now.delta));
    });
  }
  let found = null;
  function sayNeeded() {
    const wanted = Number(part("wanted").value.replace(",", ".")), index = part("measure").value;
    const pick = index === "" ? pickError : pickWidth(Number(index));
    const valid = part("wanted").value.trim() !== "" && wanted > 0 && wanted < Infinity;
    found = valid ? needed(pick, wanted, now.delta) : null;
    part("go").disabled = found === null;
    part("needed").textContent = !valid ? "Give a number above 0." : inWords(pick, found);
  }
  function inWords(pick, place) {
    if (place === null) return `Not reached at any ε up to ${small(epsilons[last])} with this δ.`;
    if (place.first) return `ε = ${small(epsilons[place.next])}, the least one here, is enough.`;
    const next = read(pick, logs[place.next], now.delta), x = Math.exp(place.x);
    const rounded = upTo(x, 2 - Math.floor(Math.log10(x)));
    const known = next.exact ? "computed" : "interpolated";
    return `ε ≈ ${small(rounded)}, interpolated. At ε = ${small(epsilons[place.next])} it is ${short(next.value)}, ${known}.`;
  }

  // -- the chart --------------------------------------------------------------------------------

  const SVG = part("chart").firstElementChild.namespaceURI; // the page brings an empty drawing
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
    const values = data.curves.flatMap((curve) => curve.errors.flat());
    const positive = values.concat(data.bounds.whole).filter((value) => value > 0);
    const high = positive.reduce((a, b) => Math.max(a, b), 0) || 1;
    const low = Math.max(positive.reduce((a, b) => Math.min(a, b), high), high / 1e7);
    return [Math.log(low) - 0.2, Math.log(high) + 0.2];
  }
  const range = valueRange();
  function ticks(low, high, most) { // powers of ten, or 1, 2, 5 of them where there is room
    const found = [];
    for (let power = Math.floor(low / Math.LN10); power <= Math.ceil(high / Math.LN10); power += 1) {
      for (const front of [1, 2, 5]) found.push({ front, value: Number(`${front}e${power}`), power });
    }
    const inside = found.filter((one) => Math.log(one.value) >= low - SAME && Math.log(one.value) <= high + SAME);
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
      x: (log) => inner.left + ((log - logs[0]) / (logs[last] - logs[0])) * (inner.right - inner.left),
      y: (log) => inner.bottom - ((log - range[0]) / (range[1] - range[0])) * (inner.bottom - inner.top),
      back: (x) => logs[0] + ((x - inner.left) / (inner.right - inner.left)) * (logs[last] - logs[0]),
      scaled: width,
      inner,
    };
    const words = `Expected error against ε at δ = ${small(now.delta)}, one line a mechanism. The numbers are in the tables.`;
    const svg = element("svg", { viewBox: `0 0 ${width} ${height}`, width, height, role: "img", "aria-label": words });
    drawAxes(svg, width, height);
    const clip = element("clipPath", { id: "explorer-clip" });
    clip.append(element("rect", { x: inner.left, y: inner.top - 6, width: inner.right - inner.left + 6, height: inner.bottom - inner.top + 6 }));
    const lines = element("g", { "clip-path": "url(#explorer-clip)" });
    svg.append(clip, lines);
    const x = scale.x(now.x);
    lines.append(element("line", { x1: x, x2: x, y1: inner.top, y2: inner.bottom, class: "here" }));
    drawBound(lines, "real", "1 4");
    drawBound(lines, "whole", "6 4");
    data.mechanisms.forEach((_, i) => drawMechanism(lines, i));
    box.replaceChildren(svg);
  }
  function drawAxes(svg, width, height) {
    const { left, right, top, bottom } = scale.inner;
    for (const one of ticks(logs[0], logs[last], Math.floor(width / 45))) {
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
  function drawBound(lines, kind, dashes) {
    const points = data.bounds.at.map((i, k) => [scale.x(logs[i]), data.bounds[kind][k]]).filter((point) => point[1] > 0);
    const placed = points.map(([x, value]) => [x, scale.y(Math.log(value))]);
    lines.append(element("path", { d: path(placed), class: "bound", "stroke-dasharray": dashes }));
  }
  function drawMechanism(lines, i) {
    const colour = data.colours[i % data.colours.length], pick = pickMechanism(i), points = [];
    logs.forEach((log, k) => {
      const here = read(pick, log, now.delta);
      if (here && here.value > 0 && !here.flat) points.push([scale.x(log), scale.y(Math.log(here.value)), k]);
    });
    if (!points.length) return;
    const dashes = i < SHAPES.length ? {} : { "stroke-dasharray": "8 3" };
    lines.append(element("path", { d: path(points), class: "curve", stroke: colour, ...dashes }));
    const shape = SHAPES[i % SHAPES.length];
    for (const [x, y, k] of points) {
      if ((k + i) % 8 === 0) lines.append(element("path", { d: shape, transform: `translate(${x},${y}) scale(0.75)`, fill: colour }));
    }
    const here = read(pick, now.x, now.delta);
    if (!here || !(here.value > 0)) return;
    const place = `translate(${scale.x(now.x)},${scale.y(Math.log(here.value))}) scale(1.35)`;
    lines.append(element("path", { d: shape, transform: place, fill: colour, stroke: "#fff" }));
  }

  // -- moving -----------------------------------------------------------------------------------

  function fromSlider(value, places, fine) { // a step of the slider as a place between computed ones
    const low = Math.floor(value / fine), share = (value % fine) / fine;
    return share ? (1 - share) * places[low] + share * places[low + 1] : places[low];
  }
  function toSlider(place, places, fine) {
    const next = places.findIndex((one) => one >= place - SAME);
    if (next <= 0) return 0;
    const share = (place - places[next - 1]) / (places[next] - places[next - 1]);
    return Math.round((next - 1 + share) * fine);
  }
  const slackLogs = slacks.map(Math.log);
  function place() { // put the controls where the numbers are
    const epsilon = part("epsilon"), delta = part("delta");
    epsilon.value = String(toSlider(now.x, logs, FINE));
    epsilon.setAttribute("aria-valuetext", `ε = ${small(Math.exp(now.x))}`);
    delta.value = String(now.delta > 0 ? 1 + toSlider(Math.log(now.delta), slackLogs, SLACK_FINE) : 0);
    delta.setAttribute("aria-valuetext", `δ = ${small(now.delta)}`);
    part("slack").textContent = `δ = ${small(now.delta)}`;
    if (document.activeElement !== part("number")) part("number").value = digits(Math.exp(now.x));
  }
  function show() {
    place();
    saySentences();
    sayReadings();
    sayNeeded();
    draw();
  }
  function go(x) {
    if (!Number.isFinite(x)) return;
    now.x = Math.min(logs[last], Math.max(logs[0], x));
    show();
  }
  function setDelta() {
    const value = Number(part("delta").value);
    now.delta = value === 0 ? 0 : exactly(fromSlider(value - 1, slackLogs, SLACK_FINE), slacks);
    show();
  }
  function exactly(log, values) {
    const same = values.find((value) => Math.abs(Math.log(value) - log) < SAME);
    return same === undefined ? Number(Math.exp(log).toPrecision(3)) : same;
  }
  function typed() {
    const value = Number(part("number").value.replace(",", "."));
    if (value > 0 && value < Infinity) go(Math.log(value));
  }
  function point(event) {
    const box = part("chart").querySelector("svg").getBoundingClientRect();
    go(scale.back((event.clientX - box.left) * (scale.scaled / box.width)));
  }

  part("epsilon").max = String(last * FINE);
  part("delta").max = String(slacks.length ? 1 + (slacks.length - 1) * SLACK_FINE : 0);
  part("delta").disabled = !slacks.length;
  part("epsilon").addEventListener("input", () => go(fromSlider(Number(part("epsilon").value), logs, FINE)));
  part("delta").addEventListener("input", setDelta);
  part("number").addEventListener("input", typed);
  part("number").addEventListener("change", () => { part("number").blur(); show(); });
  part("belief").addEventListener("change", saySentences);
  part("wanted").addEventListener("input", sayNeeded);
  part("measure").addEventListener("change", () => { startWanted(); sayNeeded(); });
  part("go").addEventListener("click", () => { if (found) go(found.x); });
  part("chart").addEventListener("pointerdown", point);
  part("chart").addEventListener("pointermove", (event) => { if (event.buttons === 1) point(event); });
  function startWanted() { // a round number near what is shown, to begin with
    const index = part("measure").value;
    const here = read(index === "" ? pickError : pickWidth(Number(index)), now.x, now.delta);
    if (here && here.value > 0) part("wanted").value = String(Number(here.value.toPrecision(1)));
  }
  root.classList.add("on");
  for (const details of root.querySelectorAll("details")) details.open = false;
  startWanted();
  show();
  new ResizeObserver(() => { if (part("chart").clientWidth !== drawn) draw(); }).observe(part("chart"));
})();
