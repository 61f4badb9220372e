// Plots below the stage: one canvas per panel, drawn once, with a moving cursor and its values.

const LINES = ["#4c86c6", "#e08a2e", "#3fa07c", "#c9605c", "#8b78c6", "#88a13c", "#3fa3bf", "#c277a3", "#8a8f98", "#b59a3c"];

/** Round numbers across a range, about `count` of them. */
function ticks(low, high, count) {
  const rough = (high - low) / count, power = 10 ** Math.floor(Math.log10(rough));
  const step = power * [1, 2, 5, 10].find(x => x * power >= rough * 0.999), out = [];
  for (let k = Math.ceil(low / step - 1e-9); k * step <= high + 1e-9 * step; k++) out.push(k * step);
  return { step, out };
}

function label(x, step) {
  if (x === 0 || Math.abs(x) < step * 1e-6) return "0";
  if (Math.abs(x) >= 1e5 || step < 1e-4) return x.toExponential(Math.max(0, Math.min(3, Math.floor(Math.log10(Math.abs(x) / step)))));
  return x.toFixed(clamp(-Math.floor(Math.log10(step) + 1e-9), 0, 6));
}

function plots(holder, panels, times, seek) {
  const start = times[0], end = times[times.length - 1] > start ? times[times.length - 1] : start + 1;
  const all = panels.map(panel => {
    const series = unpacked(panel), box = document.createElement("figure"), head = document.createElement("figcaption");
    const canvas = document.createElement("canvas"), legend = document.createElement("div"), values = [];
    const title = document.createElement("b"), unitText = document.createElement("span");
    title.textContent = panel.title;
    unitText.textContent = panel.unit ? ` [${panel.unit}]` : "";
    head.append(title, unitText);
    if (panel.of > series.length) head.append(` (first ${series.length} of ${panel.of})`);
    legend.className = "legend";
    const hidden = new Set();
    panel.names.forEach((name, k) => {
      const entry = document.createElement("button"), mark = document.createElement("i"), value = document.createElement("output");
      entry.type = "button";
      entry.title = "show or hide";
      mark.style.background = LINES[k % LINES.length];
      entry.append(mark, name, value);
      entry.onclick = () => {
        hidden.has(k) ? hidden.delete(k) : hidden.add(k);
        entry.classList.toggle("off", hidden.has(k));
        entry.setAttribute("aria-pressed", String(!hidden.has(k)));
        paint(own);
      };
      legend.append(entry);
      values.push(value);
    });
    canvas.setAttribute("role", "img");
    canvas.setAttribute("aria-label", `${panel.title} over time: ${panel.names.join(", ")}`);
    box.append(head, canvas, legend);
    holder.append(box);
    const own = { panel, series, canvas, values, hidden, base: document.createElement("canvas"), area: null };
    const scrub = event => {
      const r = canvas.getBoundingClientRect(), [x0, , wide] = own.area;
      seek(start + (end - start) * clamp((event.clientX - r.left - x0) / wide, 0, 1));
    };
    canvas.onpointerdown = event => { canvas.setPointerCapture(event.pointerId); scrub(event); };
    canvas.onpointermove = event => { if (event.buttons) scrub(event); };
    return own;
  });
  let now = [0, 0, 0], time = start;

  function paint(own) {
    const ratio = window.devicePixelRatio || 1, wide = own.canvas.clientWidth, tall = own.canvas.clientHeight;
    if (!wide) return;
    const style = getComputedStyle(document.documentElement), ink = style.getPropertyValue("--ink"), faint = style.getPropertyValue("--rule");
    for (const c of [own.canvas, own.base]) { c.width = Math.round(wide * ratio); c.height = Math.round(tall * ratio); }
    const g = own.base.getContext("2d");
    g.scale(ratio, ratio);
    g.font = "11px system-ui, sans-serif";
    let low = Infinity, high = -Infinity;
    own.series.forEach((s, k) => { if (!own.hidden.has(k)) for (const x of s) { low = Math.min(low, x); high = Math.max(high, x); } });
    if (!(high >= low)) [low, high] = [-1, 1];
    // A nearly constant quantity is drawn as constant, not as its rounding errors.
    const large = Math.max(Math.abs(low), Math.abs(high)), least = large > 1e-9 ? 1e-4 * large : Infinity;
    if (high - low < least) {
      const half = large > 1e-9 ? 0.2 * large : 1;
      [low, high] = [(low + high) / 2 - half, (low + high) / 2 + half];
    }
    const room = 0.06 * (high - low);
    [low, high] = [low - room, high + room];
    const marks = ticks(low, high, Math.max(2, tall / 36)), texts = marks.out.map(x => label(x, marks.step));
    const left = Math.ceil(Math.max(...texts.map(t => g.measureText(t).width))) + 10, top = 6, right = wide - 8, bottom = tall - 20;
    const x = t => left + (t - start) / (end - start) * (right - left), y = v => bottom - (v - low) / (high - low) * (bottom - top);
    own.area = [left, top, right - left, bottom - top];
    g.fillStyle = ink;
    g.strokeStyle = faint;
    g.lineWidth = 1;
    g.textAlign = "right";
    g.textBaseline = "middle";
    marks.out.forEach((v, k) => {
      const at = Math.round(y(v)) + 0.5;
      g.beginPath(); g.moveTo(left, at); g.lineTo(right, at); g.stroke();
      g.fillText(texts[k], left - 6, at);
    });
    g.textAlign = "center";
    g.textBaseline = "top";
    const hours = ticks(start, end, Math.max(2, wide / 80));
    hours.out.forEach(t => {
      const at = Math.round(x(t)) + 0.5;
      g.beginPath(); g.moveTo(at, top); g.lineTo(at, bottom); g.stroke();
      const last = x(t) > right - 16;
      g.textAlign = last ? "right" : "center";
      g.fillText(label(t, hours.step) + (last || t === hours.out[hours.out.length - 1] ? " s" : ""), last ? right : at, bottom + 5);
    });
    g.lineWidth = 1.6;
    g.lineJoin = "round";
    own.series.forEach((s, k) => {
      if (own.hidden.has(k)) return;
      g.strokeStyle = LINES[k % LINES.length];
      g.setLineDash(k >= LINES.length ? [5, 3] : []);
      g.beginPath();
      for (let i = 0; i < s.length; i++) i ? g.lineTo(x(times[i]), y(s[i])) : g.moveTo(x(times[i]), y(s[i]));
      g.stroke();
    });
    own.y = y;
    own.x = x;
    cursor(own);
  }
  function cursor(own) {
    const g = own.canvas.getContext("2d"), ratio = window.devicePixelRatio || 1, [low, high, s] = now;
    if (!own.area) return;
    g.setTransform(1, 0, 0, 1, 0, 0);
    g.clearRect(0, 0, own.canvas.width, own.canvas.height);
    g.drawImage(own.base, 0, 0);
    g.scale(ratio, ratio);
    const at = own.x(time);
    g.strokeStyle = getComputedStyle(document.documentElement).getPropertyValue("--accent");
    g.lineWidth = 1.2;
    g.beginPath(); g.moveTo(at, own.area[1]); g.lineTo(at, own.area[1] + own.area[3]); g.stroke();
    own.series.forEach((series, k) => {
      const value = series[low] + (series[high] - series[low]) * s;
      own.values[k].textContent = Math.abs(value) >= 1e5 ? value.toExponential(2) : value.toFixed(3);
      if (own.hidden.has(k)) return;
      g.fillStyle = LINES[k % LINES.length];
      g.beginPath(); g.arc(at, own.y(value), 3, 0, 7); g.fill();
    });
  }
  return {
    repaint() {
      // As many columns as fit, but no last row with a single plot.
      const room = clamp(Math.floor(holder.clientWidth / 380), 1, all.length || 1);
      const wide = room > 1 && all.length % room === 1 ? room - 1 : room;
      holder.style.gridTemplateColumns = `repeat(${wide}, minmax(0, 1fr))`;
      all.forEach(paint);
    },
    move: (t, where) => { time = t; now = where; all.forEach(cursor); },
  };
}
