package io.jccl.cli;

import io.jccl.cli.output.BuildVersion;
import io.jccl.nativelib.NativeLoader;
import java.util.stream.Collectors;
import picocli.CommandLine.IVersionProvider;

/**
 * Returns the lines of {@code jccl --version}: the version of the jar, the native libraries in it, and the Java
 * version.
 */
final class Version implements IVersionProvider {

    @Override
    public String[] getVersion() {
        String natives = NativeLoader.embeddedBuilds().entrySet().stream()
                .map(library -> library.getKey() + " (build " + library.getValue() + ")")
                .collect(Collectors.joining(", "));
        return new String[] {
            "jccl " + BuildVersion.get(),
            "native libraries: " + (natives.isEmpty() ? "none" : natives),
            "Java " + System.getProperty("java.version") + ", " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch")
        };
    }
}
