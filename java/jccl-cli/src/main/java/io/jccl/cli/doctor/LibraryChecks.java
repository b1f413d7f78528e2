package io.jccl.cli.doctor;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.internal.Causes;
import io.jccl.nativelib.NativeLibrary;
import io.jccl.nativelib.NativeLoader;
import java.util.ArrayList;
import java.util.List;

/** Checks the native library and the settings. */
final class LibraryChecks {

    private LibraryChecks() {}

    static List<Finding> nativeLibrary(Host host) {
        try {
            NativeLoader.load();
        } catch (RuntimeException | LinkageError e) {
            return List.of(Finding.fail(
                    "native-library",
                    Causes.describe(e),
                    "do as the message says; -Djccl.native.path=FILE names a library to load instead of the jar's"));
        }
        return List.of(loaded(NativeLibrary.instructionSet(), System.getProperty("os.arch", "")));
    }

    /**
     * @param isa instruction set that reductions use
     * @param arch architecture of the processor, as Java names it
     */
    static Finding loaded(String isa, String arch) {
        if (!isa.equals("portable")) {
            return Finding.ok("native-library", "loaded; reductions use " + isa);
        }
        return arch.equals("aarch64") // compiled for NEON, which every such processor has
                ? Finding.ok("native-library", "loaded; reductions use neon")
                : Finding.warn(
                        "native-library",
                        "loaded; reductions use portable code: this processor has no AVX2",
                        "run on a processor with AVX2 (in a virtual machine: pass the host's CPU model through)");
    }

    static List<Finding> settings(Host host) {
        Settings settings;
        try {
            settings = Settings.load(CommunicatorConfig.defaults(), System::getProperty, host.environment());
        } catch (IllegalArgumentException e) {
            return List.of(
                    Finding.fail("settings", Causes.describe(e), "correct or unset it; jccl env lists all settings"));
        }
        List<Finding> findings = new ArrayList<>();
        for (String warning : settings.warnings()) {
            findings.add(Finding.warn("settings", warning, "correct or unset it; jccl env lists all settings"));
        }
        return findings.isEmpty() ? List.of(Finding.ok("settings", "all known and well-formed")) : findings;
    }
}
