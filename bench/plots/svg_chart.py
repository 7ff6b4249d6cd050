"""Line charts as small SVG files that are readable on light and on dark pages. Standard library only."""

import dataclasses
import html
import math

WIDTH, HEIGHT = 250, 210          # of a panel's axes
LEFT, TOP, GAP, BOTTOM = 46, 34, 34, 40
COLOURS = ("#2f7fc1", "#dd7a2a", "#8b8f94", "#3c9a5f", "#b5539c", "#a8862d", "#5d6fd0", "#c8504f")
STYLE = """text{font:11px sans-serif;fill:#24292f}.axis{stroke:#8b8f94;fill:none}.grid{stroke:#8b8f94;stroke-opacity:.25}
.line{fill:none;stroke-width:1.8}.title{font-weight:bold}
@media (prefers-color-scheme:dark){text{fill:#d8dee4}}"""


@dataclasses.dataclass
class Line:
    label: str
    points: list                # of (x, y)
    colour: int = 0
    dash: str = ""              # as stroke-dasharray takes it; empty: solid
    marker: bool = True


@dataclasses.dataclass
class Panel:
    title: str
    lines: list
    x_label: str
    log_y: bool = False


def count_text(value):
    """Powers of two as 4k, 64k; other numbers as they are."""
    value = int(value)
    return f"{value // 1024}k" if value >= 1024 and value % 1024 == 0 else str(value)


def nice_steps(largest):
    """0, step, 2 step... up to `largest` or a little more: four to eight of them."""
    step = 10 ** math.floor(math.log10(largest / 4))
    step *= next(factor for factor in (1, 2, 2.5, 5, 10) if largest / (step * factor) <= 7)
    return [step * i for i in range(math.ceil(largest / step) + 1)]


class Axis:
    """Maps values to pixels: logarithmic, or linear from 0."""

    def __init__(self, values, log, start, end):
        self.log, self.start, self.end = log, start, end
        if log:
            self.low, self.high = math.log(min(values)), math.log(max(values))
            decades = range(math.floor(math.log10(min(values))), math.ceil(math.log10(max(values))) + 1)
            steps = [digit * 10.0 ** power for power in decades for digit in (1, 2, 5)]
            self.steps = [step for step in steps if min(values) <= step <= max(values)]
        else:
            self.steps = nice_steps(max(values))
            self.low, self.high = 0, self.steps[-1]
        if self.high <= self.low:
            self.high = self.low + 1

    def __call__(self, value):
        value = math.log(value) if self.log else value
        return self.start + (value - self.low) / (self.high - self.low) * (self.end - self.start)


def panel_svg(panel, left, xs, y):
    """A panel's axes with its lines; the values on x and the axis y are those of all panels."""
    x = Axis(xs, True, left, left + WIDTH)
    bottom = TOP + HEIGHT
    parts = [f'<text class="title" x="{left + WIDTH / 2:g}" y="{TOP - 12}" text-anchor="middle">'
             f"{html.escape(panel.title)}</text>",
             f'<text x="{left + WIDTH / 2:g}" y="{bottom + 32}" text-anchor="middle">{html.escape(panel.x_label)}</text>']
    for step in y.steps:
        parts.append(f'<path class="grid" d="M{left} {y(step):.1f}h{WIDTH}"/>'
                     f'<text x="{left - 5}" y="{y(step) + 4:.1f}" text-anchor="end">{step:g}</text>')
    for value in xs:
        parts.append(f'<path class="axis" d="M{x(value):.1f} {bottom}v4"/>'
                     f'<text x="{x(value):.1f}" y="{bottom + 16}" text-anchor="middle">{count_text(value)}</text>')
    parts.append(f'<path class="axis" d="M{left} {TOP}V{bottom}H{left + WIDTH}"/>')
    for line in panel.lines:
        colour = COLOURS[line.colour % len(COLOURS)]
        points = [(x(a), y(b)) for a, b in sorted(line.points)]
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        parts.append(f'<path class="line" stroke="{colour}"{dash} d="M'
                     + "L".join(f"{a:.1f} {b:.1f}" for a, b in points) + '"/>')
        if line.marker:
            parts += [f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6" fill="{colour}"/>' for a, b in points]
    return parts


def legend_svg(lines, left):
    parts = []
    for number, line in enumerate(lines):
        y = TOP + 10 + 18 * number
        dash = f' stroke-dasharray="{line.dash}"' if line.dash else ""
        parts.append(f'<path class="line" stroke="{COLOURS[line.colour % len(COLOURS)]}"{dash} d="M{left} {y}h22"/>'
                     f'<text x="{left + 28}" y="{y + 4}">{html.escape(line.label)}</text>')
    return parts


def chart(panels, y_label, note=""):
    """The text of an SVG file: panels next to each other on equal axes, one legend, and a note below."""
    lines = {}
    for panel in panels:
        panel.lines = [Line(line.label, [p for p in line.points if p[1] == p[1]], line.colour, line.dash, line.marker)
                       for line in panel.lines]
        panel.lines = [line for line in panel.lines if line.points]
        for line in panel.lines:
            lines.setdefault(line.label, line)
    points = [point for panel in panels for line in panel.lines for point in line.points]
    xs = sorted({point[0] for point in points})
    y = Axis([point[1] for point in points], panels[0].log_y, TOP + HEIGHT, TOP)
    legend_left = LEFT + len(panels) * (WIDTH + GAP)
    width = legend_left + 36 + max((7 * len(label) for label in lines), default=0)
    height = TOP + HEIGHT + BOTTOM + (16 if note else 0)
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height}" width="{width:.0f}" '
             f'height="{height}">', f"<style>{STYLE}</style>",
             f'<text x="{LEFT - 34}" y="{TOP - 12}">{html.escape(y_label)}</text>']
    for number, panel in enumerate(panels):
        parts += panel_svg(panel, LEFT + number * (WIDTH + GAP), xs, y)
    parts += legend_svg(lines.values(), legend_left)
    if note:
        parts.append(f'<text x="{LEFT}" y="{height - 6}">{html.escape(note)}</text>')
    return "\n".join(parts) + "\n</svg>\n"
