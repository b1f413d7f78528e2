package io.jccl.nativelib;

import java.util.Locale;

/**
 * An operating system and processor as they are named in {@code META-INF/native/<os>-<arch>/}.
 *
 * @param os for example {@code linux}
 * @param arch for example {@code x86_64}
 */
record Platform(String os, String arch) {

    static Platform ofThisJvm() {
        return of(System.getProperty("os.name"), System.getProperty("os.arch"));
    }

    /** From the values of {@code os.name} and {@code os.arch}. */
    static Platform of(String osName, String osArch) {
        String os = osName.toLowerCase(Locale.ROOT).replace(' ', '_');
        String arch = osArch.toLowerCase(Locale.ROOT);
        return new Platform(
                os,
                switch (arch) {
                    case "amd64", "x86_64", "x64" -> "x86_64";
                    case "arm64", "aarch64" -> "aarch64";
                    default -> arch;
                });
    }

    String directory() {
        return os + "-" + arch;
    }

    /** The name of the library's file. */
    String libraryFile() {
        return "libjccl.so";
    }
}
