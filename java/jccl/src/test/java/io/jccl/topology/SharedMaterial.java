package io.jccl.topology;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Finds material next to the project, which is present on some hosts. Tests that use it are skipped on other hosts. */
public final class SharedMaterial {

    private SharedMaterial() {}

    /**
     * Returns a file or folder of the shared material, from whichever folder of the project the tests are run; empty if
     * it is missing.
     */
    public static Optional<Path> find(String name) {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.exists(at.resolve("CMakeLists.txt")) && Files.isDirectory(at.resolve("java"))) {
                return Optional.of(at.resolveSibling("shared").resolve(name)).filter(Files::exists);
            }
        }
        return Optional.empty();
    }
}
