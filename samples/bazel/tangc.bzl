"""`tangc_library`: kernels of a .tg file as a cc_library."""

def tangc_library(name, src, target = "c", includes = [], **kwargs):
    """Compiles `src` with tangc for a C target.

    Args:
      name: of the cc_library.
      src: the .tg file.
      target: `c`, `c+avx2`, ...
      includes: .tg files that `src` includes. Bazel wants them named, so no depfile is asked for.
      **kwargs: passed to the cc_library.
    """
    stem = src.rsplit("/", 1)[-1].rsplit(":", 1)[-1].removesuffix(".tg")
    outs = ["%s.%s.c" % (stem, target), stem + ".h", "%s.%s.sol.json" % (stem, target)]
    native.genrule(
        name = name + "_generated",
        srcs = [src] + includes,
        outs = outs,
        # TANGC comes from `--action_env=TANGC=...`; without it tangc is looked for on the PATH.
        cmd = "$${TANGC:-tangc} $(location %s) --target %s -d $(RULEDIR)" % (src, target),
    )
    native.cc_library(
        name = name,
        srcs = [outs[0]],
        hdrs = [outs[1]],
        copts = ["-std=c11"],
        includes = ["."],
        linkopts = ["-lm"],
        **kwargs
    )
