"""The rows of rows.txt: what README and docs/figures.md show, which records they are, what measures them."""

import dataclasses
import json
import pathlib
import shlex

FOLDER = pathlib.Path(__file__).resolve().parent
ROWS = FOLDER / "rows.txt"
RESULTS = FOLDER.parent / "results"

# Options of a run that a record names, at their defaults: a record made with others is not a row's unless the row's
# conditions say so.
DEFAULTS = {
    "broadcast_from_host": False, "chunk_bytes": 0, "coarse_width": -1, "emulated": False, "gpu_memory": 0,
    "gpu_panels_below": -1, "in_place": False, "lookahead": -1, "looking": "chosen", "narrow_at_end": True,
    "panel_threads": 0, "products": "", "rows_on_cores": False, "single_update_task": False, "split_products": True,
    "substitution": "auto", "tf32": False, "triangle": "lower",
}


class RowsError(Exception):
    """What is wrong with a file of rows or records."""


@dataclasses.dataclass(frozen=True)
class Unit:
    """How the figure of a record is read and shown."""
    path: tuple          # of the figure in a record
    scale: float
    digits: int
    vendor: tuple = ()   # path of the other library's figure; empty: it has none
    lower_is_better: bool = False


UNITS = {
    "Tflop/s": Unit(("gflops",), 1e-3, 1, ("vendor_gflops",)),
    "Gflop/s": Unit(("gflops",), 1, 1, ("vendor_gflops",)),
    "x": Unit(("ratio",), 1, 2),
    "Gflop/s/W": Unit(("energy", "gflops_per_watt"), 1, 1, ("vendor_energy", "gflops_per_watt")),
    "times": Unit(("times_one",), 1, 2, lower_is_better=True),
    "ms": Unit(("milliseconds",), 1, 3, lower_is_better=True),
    "us": Unit(("metg_ns",), 1e-3, 2, lower_is_better=True),
    "us a kernel": Unit(("us_per_kernel",), 1, 2, lower_is_better=True),
    "ns": Unit(("ns_per_task",), 1, 0, lower_is_better=True),
    "ns an access": Unit(("ns_per_access",), 1, 0, lower_is_better=True),
    "x oneTBB": Unit(("times_onetbb",), 1, 2, lower_is_better=True),
    "x OpenMP": Unit(("times_openmp",), 1, 2, lower_is_better=True),
    "x bytes": Unit(("times_bytes",), 1, 2, lower_is_better=True),
    "x readwrite": Unit(("times_readwrite",), 1, 2, lower_is_better=True),
    "MB": Unit(("peak_mb",), 1, 1, lower_is_better=True),
    "%": Unit(("efficiency",), 100, 0),
    "% of dgemm": Unit(("gemm_fraction",), 100, 0),
}


@dataclasses.dataclass(frozen=True)
class Row:
    name: str
    section: str         # heading in docs/figures.md
    shown: str           # "readme" or "docs"
    gpus: int
    rank: int            # 1 is measured first
    seconds: float       # that its command is estimated to take; 0 for a row that shares the command above it
    unit: str
    must: float | None
    aim: float | None
    conditions: dict     # fields of the record and their values, as text
    against: dict        # conditions of the record to compare with that differ; empty: the record names the other library
    command: str         # BENCH ARGUMENT..., or basalt SUBCOMMAND ARGUMENT...

    @property
    def compares(self):
        """Whether its records also hold another library's figure."""
        return bool(UNITS[self.unit].vendor) and self.command.startswith("versus ") and "--vendor none" not in self.command

    def figure(self, record):
        """The figure of a record in the row's unit; None where the record has none."""
        return self._read(record, UNITS[self.unit].path)

    def vendor_figure(self, record):
        path = UNITS[self.unit].vendor
        return self._read(record, path) if path else None

    def _read(self, record, path):
        for key in path:
            record = record.get(key) if isinstance(record, dict) else None
        return record * UNITS[self.unit].scale if isinstance(record, (int, float)) else None

    def text(self, figure):
        """A figure as the tables show it."""
        return "-" if figure is None else f"{figure:.{UNITS[self.unit].digits}f}"

    def gain(self, figure, before):
        """How much better a figure is than another one: 0.1 is a tenth faster."""
        lower = UNITS[self.unit].lower_is_better
        return before / figure - 1 if lower else figure / before - 1

    def reaches(self, figure, target):
        return figure <= target if UNITS[self.unit].lower_is_better else figure >= target

    def is_of(self, record, against=False):
        """Whether a record is this row's, or the one that it is compared with."""
        conditions = {**self.conditions, **(self.against if against else {})}
        if not all(key in record and _as_text(record[key]) == value for key, value in conditions.items()):
            return False
        if self.compares and self.vendor_figure(record) is None:
            return False
        return all(_same(record.get(key, usual), usual) for key, usual in DEFAULTS.items() if key not in conditions)


def _as_text(value):
    return json.dumps(value) if not isinstance(value, str) else value


def _same(value, usual):
    return _as_text(value) == _as_text(usual)


def read_rows(path=ROWS):
    rows, section, command = [], "", None
    for number, line in enumerate(pathlib.Path(path).read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        if line.startswith("["):
            section = line.strip().strip("[]")
            continue
        try:
            row = _read_row(line, section, command)
        except (KeyError, ValueError) as error:
            raise RowsError(f"{path}:{number}: {error}") from None
        if row.name in {other.name for other in rows}:
            raise RowsError(f"{path}:{number}: a second row '{row.name}'")
        rows.append(row)
        command = row.command
    return rows


def _read_row(line, section, command_above):
    fields = [field.strip() for field in line.split("|")]
    if len(fields) != 10:
        raise ValueError(f"{len(fields)} fields; a row has 10: "
                         "row, shown, gpus, rank, seconds, unit, must, aim, record, command")
    name, shown, gpus, rank, seconds, unit, must, aim, record, command = fields
    if shown not in ("readme", "docs"):
        raise ValueError(f"shown '{shown}'; allowed are readme and docs")
    if unit not in UNITS:
        raise ValueError(f"unit '{unit}'; allowed are {', '.join(UNITS)}")
    shared = command == '"'
    if shared and command_above is None:
        raise ValueError("no command above this one")
    own, _, against = record.partition(" / ")
    return Row(name, section, shown, int(gpus), int(rank), 0 if shared else float(seconds), unit, _target(must), _target(aim),
               _conditions(own), _conditions(against), command_above if shared else command)


def _target(text):
    return None if text == "-" else float(text)


def _conditions(text):
    pairs = [word.partition("=") for word in shlex.split(text)]
    if not all(equals for _, equals, _ in pairs):
        raise ValueError(f"conditions '{text}'; allowed are words FIELD=VALUE")
    return {key: value for key, _, value in pairs}


def read_records(folder):
    """All records of a folder, oldest first: by date, then by file and line."""
    records = []
    for path in sorted(pathlib.Path(folder).glob("*.json")):
        for number, line in enumerate(path.read_text().splitlines(), 1):
            try:
                record = json.loads(line)
            except ValueError as error:
                raise RowsError(f"{path}:{number}: no JSON object: {error}") from None
            record["_from"] = f"{path.name}:{number}"
            records.append(record)
    return merged([records])


def merged(lists):
    """Records of several lists, oldest first."""
    return sorted((record for records in lists for record in records), key=lambda record: record.get("date", ""))


def newest(row, records, against=False):
    """The newest of some records, oldest first, that is the row's and passed its check; None without any."""
    for record in reversed(records):
        if record.get("passed", True) is not False and row.is_of(record, against) and row.figure(record) is not None:
            return record
    return None
