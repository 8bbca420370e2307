"use strict";
// Numbers as explorer_words.py and figures.py write them.
const explorerWords = (() => {
  const raise = (power) => String(power).replace(/[-0-9]/g, (sign) => "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"["-0123456789".indexOf(sign)]);
  const digits = (value) => String(Number(value.toPrecision(6)));
  const exact = (value) => (value > 0 && value < 1e-4 ? value.toExponential() : String(value));
  function scientific(value) {
    const [mantissa, power] = value.toExponential(2).split("e");
    const front = String(Number(mantissa));
    return (front === "1" ? "" : `${front} × `) + `10${raise(Number(power))}`;
  }
  const small = (value) => (value > 0 && value < 1e-3 ? scientific(value) : digits(value));
  function fixed(value, decimals) { // ties go to the even digit, as in Python; 25 more digits identify ties
    const digits = value.toFixed(decimals + 25), front = digits.slice(0, -25).replace(/\.$/, "");
    return /^50*$/.test(digits.slice(-25)) && /[02468]$/.test(front) ? front : value.toFixed(decimals);
  }
  function short(value) {
    if (value === 0) return "0";
    if (value < 1e-3 || value >= 1e12) return scientific(value);
    const decimals = Math.max(0, 3 - Math.floor(Math.log10(value)));
    const [front, back = ""] = fixed(value, decimals).split(".");
    const tail = back.replace(/0+$/, "");
    return front.replace(/\B(?=(\d{3})+$)/g, ",") + (tail ? `.${tail}` : "");
  }
  const percent = (tenths) => `${Number((tenths / 10).toFixed(1))}%`;
  const percentUp = (share) => percent(Math.min(1000, Math.ceil(share * 1000 - 1e-9)));
  const percentDown = (share) => percent(Math.max(0, Math.floor(share * 1000 + 1e-9)));
  function upTo(value, decimals) {
    const unit = 10 ** decimals;
    return Math.ceil(value * unit - 1e-9) / unit;
  }
  function factorUp(epsilon) {
    if (epsilon > 690) return "an astronomical number";
    if (epsilon >= 0.7) return short(upTo(Math.exp(epsilon), 2 - Math.floor(epsilon / Math.LN10)));
    const decimals = 1 - Math.floor(Math.log10(Math.expm1(epsilon)));
    return (1 + upTo(Math.expm1(epsilon), decimals)).toFixed(decimals);
  }

  function sentences(epsilon, delta, belief) {
    const fade = Math.exp(-epsilon), against = 1 - belief;
    const found = Math.min(0.01 / fade + delta, 1 - fade * (0.99 - delta));
    return {
      epsilon: small(epsilon),
      delta: small(delta),
      factor: factorUp(epsilon),
      guess: percentUp((1 + delta * fade) / (1 + fade)),
      found: percentUp(found),
      most: percentUp(belief / (belief + against * (delta > 0 ? fade / 2 : fade))),
      least: percentDown((belief * fade) / (belief * fade + against)),
      except: small(2 * delta),
      twice: `ε = ${small(2 * epsilon)}` + (delta > 0 ? `, δ = ${small(2 * delta)}` : ""),
      digits: exact(epsilon),
      slack: exact(delta),
    };
  }

  return { digits, exact, small, short, sentences };
})();
