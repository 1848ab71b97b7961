"""scripts/check_layers must find each kind of fault, and nothing in a tree without one."""
import pathlib
import subprocess
import sys
import tempfile

LAYERS = """
# tangc_layer(parse USES everything): a comment is no layer
tangc_layer(base LIBRARIES fmt)
tangc_layer(graph USES base)
tangc_layer(plan USES graph)
tangc_layer(bound USES plan)
tangc_layer(schedule USES plan bound)
tangc_layer(print USES plan LIBRARIES x)
"""
GOOD = {
    "graph/a.h": '#include "base/a.h"\n#include "graph/b.h"\n#include <vector>\n',
    "plan/a.h": '#include "base/a.h"\n#include "graph/b.h"\n',
    "schedule/a.cpp": '#include "bound/a.h"\n#include "graph/b.h"\n',
    "print/dialects/cuda.cpp": "// CUDA has warps\n",
    "print/dialect.cpp": '#include "print/dialects/cuda.h"\n',
    "base/a.h": "// nonmetallic words are none: barracuda\n",
}
FAULTS = [
    ("", {"base/x.h": '#include "graph/a.h"\n'}, "src/base/x.h:1: base includes graph"),
    ("", {"graph/x.cpp": '\n#include "schedule/a.h"\n'}, "src/graph/x.cpp:2: graph includes schedule"),
    ("", {"bound/x.cpp": '#include "schedule/a.h"\n'}, "src/bound/x.cpp:1: bound includes schedule"),
    ("", {"print/x.cpp": '  #  include "bound/a.h"\n'}, "src/print/x.cpp:1: print includes bound"),
    ("", {"graph/x.h": "// a CUDA block\n"}, "src/graph/x.h:1: names a dialect"),
    ("", {"graph/x.def": 'ROW("wgsl")\n'}, "src/graph/x.def:1: names a dialect"),
    ("", {"bound/x.cpp": "bool is_metal;\n"}, "src/bound/x.cpp:1: names a dialect"),
    ("", {"print/x.cpp": 'if (name == "msl")\n'}, "src/print/x.cpp:1: names a dialect"),
    ("tangc_layer(layout USES base bound)\n", {}, "src/CMakeLists.txt: noun layout uses verb bound"),
]


def run(script, layers, files):
    with tempfile.TemporaryDirectory() as root:
        for name, text in {**files, "CMakeLists.txt": layers}.items():
            path = pathlib.Path(root, "src", name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        result = subprocess.run([sys.executable, script, root], capture_output=True, text=True)
        return result.returncode, result.stdout


def main(script):
    code, out = run(script, LAYERS, GOOD)
    assert code == 0, out
    for layers, files, wanted in FAULTS:
        code, out = run(script, LAYERS + layers, {**GOOD, **files})
        assert code == 1 and out.startswith(wanted) and out.count("\n") == 1, (wanted, code, out)


main(sys.argv[1])
