"""Numbers as people read them, never more exact than they are."""

import math

from gaugedp.guarantees import Guarantee

_DIGITS = 3  # significant digits of a half width; the estimate is shown to the same place


def plain(value: float, decimals: int = 0) -> str:
    """Return the number with thousands separators and a true minus sign."""
    text = f"{value:,.{decimals}f}"
    return text.replace("-", "−") if float(text.replace(",", "")) else text.lstrip("-")


def short(value: float) -> str:
    """Return at most four significant digits, such as 83.43, 12,340 or 2.1 × 10⁻⁷."""
    if value == 0 or not math.isfinite(value):
        return "0" if value == 0 else str(value)
    if not 1e-3 <= abs(value) < 1e12:
        return scientific(value)
    decimals = max(0, 3 - math.floor(math.log10(abs(value))))
    text = plain(value, decimals)
    return text.rstrip("0").rstrip(".") if "." in text else text


def scientific(value: float) -> str:
    """Return m × 10ᵏ."""
    mantissa, power = f"{value:.3g}".split("e") if "e" in f"{value:.3g}" else f"{value:.2e}".split("e")
    raised = str(int(power)).translate(str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"))
    return f"10{raised}" if float(mantissa) == 1 else f"{mantissa.replace('-', '−')} × 10{raised}"


def place(low: float, high: float) -> int:
    """Return the decimals (below 0: tens, hundreds) that an answer with this interval is worth."""
    half_width = (high - low) / 2
    if not 0 < half_width < math.inf:
        return 0 if float(low).is_integer() else 6
    return min(9, _DIGITS - 1 - math.floor(math.log10(half_width)))


def answer(estimate: float, low: float, high: float) -> tuple[str, str, str]:
    """Return the three as text; the interval is rounded outwards."""
    whole = all(float(value).is_integer() for value in (estimate, low, high))
    decimals = min(place(low, high), 0) if whole else place(low, high)
    unit = 10.0**decimals
    ends = math.floor(low * unit + 1e-9) / unit, math.ceil(high * unit - 1e-9) / unit
    shown = max(decimals, 0)
    middle, lower, upper = (plain(value, shown) for value in (round(estimate, decimals), *ends))
    return middle, lower, upper


def percent_up(share: float) -> str:
    """Return a percentage, rounded up to a tenth."""
    return f"{min(100.0, math.ceil(share * 1000 - 1e-9) / 10):g}\u00a0%"


def factor_up(epsilon: float) -> str:
    """Return e^epsilon, rounded up, with two or more digits of what it is above 1."""
    if epsilon > 690:
        return "an astronomical number of"
    if 0 < epsilon < 0.7:
        decimals = 1 - math.floor(math.log10(math.expm1(epsilon)))
        return f"{1 + math.ceil(math.expm1(epsilon) * 10.0**decimals - 1e-9) / 10.0**decimals:.{decimals}f}"
    return _three_digits_up(math.exp(epsilon))


def epsilon_at(promise: Guarantee, delta: float) -> str:
    """Return ε at δ to three digits, rounded up."""
    value = promise.epsilon(delta)
    return _three_digits_up(value) if 0 < value < math.inf else short(value)


def _three_digits_up(value: float) -> str:
    unit = 10.0 ** (2 - math.floor(math.log10(value)))
    return short(math.ceil(value * unit - 1e-9) / unit)
