package io.jccl.topology;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;

/** Material that lies beside the project on some hosts; tests that use it are skipped elsewhere. */
public final class SharedMaterial {

    private SharedMaterial() {}

    /** A file or folder of the shared material, wherever in the project the tests are run from. */
    public static Optional<Path> find(String name) {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.exists(at.resolve("CMakeLists.txt")) && Files.isDirectory(at.resolve("java"))) {
                return Optional.of(at.resolveSibling("shared").resolve(name)).filter(Files::exists);
            }
        }
        return Optional.empty();
    }
}
