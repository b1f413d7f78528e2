package io.jccl.cli;

import io.jccl.nativelib.NativeLoader;
import java.io.IOException;
import java.io.InputStream;
import java.util.Properties;
import java.util.stream.Collectors;
import picocli.CommandLine.IVersionProvider;

/** What {@code jccl --version} prints: the version that the build wrote into the jar, the natives in it, and the Java. */
final class Version implements IVersionProvider {

    private static final String RESOURCE = "version.properties";

    @Override
    public String[] getVersion() throws IOException {
        Properties properties = new Properties();
        try (InputStream in = Version.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IOException("resource=" + RESOURCE + " is missing: build the command with Maven");
            }
            properties.load(in);
        }
        return new String[] {
            "jccl " + properties.getProperty("version"),
            "native libraries: " + NativeLoader.embeddedBuilds().entrySet().stream()
                    .map(library -> library.getKey() + " (build " + library.getValue() + ")")
                    .collect(Collectors.joining(", ")),
            "Java " + System.getProperty("java.version") + ", " + System.getProperty("os.name") + " "
                    + System.getProperty("os.arch")
        };
    }
}
