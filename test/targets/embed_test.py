"""tangc_embed must refuse tables that do not fit together, and print nothing then."""
import pathlib
import shutil
import subprocess
import sys
import tempfile


def run(tool, tables, spoil=lambda root: None):
    """Copies the project's tables, spoils them, and embeds them: (exit code, stderr, whether a file was written)."""
    with tempfile.TemporaryDirectory() as folder:
        root = pathlib.Path(folder, "targets")
        shutil.copytree(tables, root)
        spoil(root)
        index = root / "index.yaml"
        targets = sorted(p for p in root.glob("*.yaml") if p != index)
        devices = sorted(root.glob("devices/*.yaml"))
        output = pathlib.Path(folder, "out.cpp")
        command = [tool, output, index, *targets, "--", *devices, "--"]
        result = subprocess.run(command, capture_output=True, text=True)
        return result.returncode, result.stderr, output.exists()


def edit(name, old, new):
    def spoil(root):
        text = (root / name).read_text()
        assert old in text, (name, old)
        (root / name).write_text(text.replace(old, new, 1))
    return spoil


CASES = [
    (edit("index.yaml", "  - glsl\n", ""), "the index does not list `glsl`"),
    (edit("index.yaml", "  - glsl\n", "  - glsl\n  - spirv\n"), "the index lists `spirv`, which has no file"),
    (edit("sm_75.yaml", "name: sm_75", "name: sm_70"), "the file holds `sm_70`"),
    (edit("sm_75.yaml", "default_device: t4", "default_device: t5"), "there is no device `t5`"),
    (edit("sm_75.yaml", "default_device: t4", "default_device: generic-arm"), "`generic-arm` does not run `sm_75`"),
    (edit("devices/t4.yaml", "runs: [opencl, sm_75]", "runs: [opencl, sm_75, sm_74]"), "runs `sm_74`, which is no target"),
    (edit("devices/t4.yaml", "sm_count: 40", "sm_count: forty"), "t4.yaml:7:13: error: `sm_count` must be a whole number"),
    (lambda root: (root / "index.yaml").unlink(), "cannot read the file"),
]


def main(tool, tables):
    code, err, written = run(tool, tables)
    assert (code, err, written) == (0, "", True), (code, err)
    for spoil, wanted in CASES:
        code, err, written = run(tool, tables, spoil)
        assert code == 1 and wanted in err and not written, (wanted, code, err)
    assert subprocess.run([tool], capture_output=True).returncode == 2


main(*sys.argv[1:])
