package io.jccl.cli.output;

import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.util.Properties;

/** Reads the version that the build wrote into the jar of the command. */
public final class BuildVersion {

    private static final String RESOURCE = "/io/jccl/cli/version.properties";

    private BuildVersion() {}

    /**
     * Returns the version, for example {@code 1.2.0}.
     *
     * @throws IllegalStateException if the jar contains no version
     */
    public static String get() {
        Properties properties = new Properties();
        try (InputStream in = BuildVersion.class.getResourceAsStream(RESOURCE)) {
            if (in == null) {
                throw new IllegalStateException("resource=" + RESOURCE + " is missing: build the command with Maven");
            }
            properties.load(in);
        } catch (IOException e) {
            throw new UncheckedIOException("resource=" + RESOURCE + " cannot be read", e);
        }
        return properties.getProperty("version");
    }
}
