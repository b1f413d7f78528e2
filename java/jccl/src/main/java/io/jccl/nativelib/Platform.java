package io.jccl.nativelib;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * An operating system and a processor, named as in {@code META-INF/native/<os>-<arch>/}, and a C library.
 *
 * @param os operating system, for example {@code linux}
 * @param arch processor, for example {@code x86_64}
 * @param cLibrary {@code musl}; or, for example, {@code glibc-2.17} if the name of the library's file contains the
 *     version, as for glibc before 2.34; otherwise empty
 */
record Platform(String os, String arch, String cLibrary) {

    private static final int MIN_GLIBC_MINOR = 28;
    private static final Path MAPS = Path.of("/proc/self/maps");
    private static final String WITHOUT_LIBRARY =
            "; what needs no native library works here, such as `jccl topo --file` and planning";

    /** Platforms for which a release contains libraries. */
    static final List<Platform> RELEASED = List.of(of("linux", "x86_64"), of("linux", "aarch64"));

    static Platform ofThisJvm() {
        String maps;
        try {
            maps = Files.readString(MAPS, StandardCharsets.ISO_8859_1);
        } catch (IOException e) { // no Linux, or no /proc
            maps = "";
        }
        return of(System.getProperty("os.name"), System.getProperty("os.arch"), maps);
    }

    /** Returns the platform for the values of {@code os.name} and {@code os.arch}, with an unknown C library. */
    static Platform of(String osName, String osArch) {
        return of(osName, osArch, "");
    }

    /**
     * Returns the platform for the values of {@code os.name} and {@code os.arch}.
     *
     * @param maps the process's mappings in the format of {@code /proc/self/maps}
     */
    static Platform of(String osName, String osArch, String maps) {
        String os = osName.toLowerCase(Locale.ROOT).replace(' ', '_');
        String arch = osArch.toLowerCase(Locale.ROOT);
        return new Platform(
                os,
                switch (arch) {
                    case "amd64", "x86_64", "x64" -> "x86_64";
                    case "arm64", "aarch64" -> "aarch64";
                    default -> arch;
                },
                cLibrary(maps));
    }

    private static String cLibrary(String maps) {
        if (maps.contains("/ld-musl-")) {
            return "musl";
        }
        if (!maps.contains("/libc-2.")) {
            return "";
        }
        Matcher glibc = Pattern.compile("/libc-2\\.(\\d+)\\.so\\b").matcher(maps);
        return glibc.find() ? "glibc-2." + glibc.group(1) : "";
    }

    /** Returns the reason why no library of any jar can be loaded here; empty if there is none. */
    Optional<String> obstacle() {
        if (!os.equals("linux")) {
            return Optional.of(
                    "os=" + os + ": expected linux; run ranks on Linux, for which a container or a virtual machine"
                            + " is enough" + WITHOUT_LIBRARY);
        }
        if (cLibrary.equals("musl")) {
            return Optional.of(
                    "C library=musl: expected glibc 2." + MIN_GLIBC_MINOR + " or newer; use an image with glibc,"
                            + " such as one of Debian, Ubuntu or RHEL instead of Alpine" + WITHOUT_LIBRARY);
        }
        if (cLibrary.startsWith("glibc-2.")
                && Integer.parseInt(cLibrary.substring("glibc-2.".length())) < MIN_GLIBC_MINOR) {
            return Optional.of("C library=" + cLibrary + ": expected glibc 2." + MIN_GLIBC_MINOR
                    + " or newer; use a newer distribution or image, or build JCCL on this host and name its library with -D"
                    + NativeLibraryFinder.PATH_PROPERTY + WITHOUT_LIBRARY);
        }
        return Optional.empty();
    }

    /** Returns the message for a jar that contains no library for this platform. */
    String absence() {
        boolean released = RELEASED.stream().anyMatch(one -> one.directory().equals(directory()));
        return "platform=" + directory() + ": this jar has no native library for it"
                + (released
                        ? "; use the released jar, and keep its META-INF/native when jars are packed into a larger one"
                        : ": expected linux-x86_64 or linux-aarch64; run ranks on such a host, or build the library of"
                                + " this version there and name it with -D" + NativeLibraryFinder.PATH_PROPERTY)
                + WITHOUT_LIBRARY;
    }

    /** Returns the message for the case that there is no library for GPUs, which is in a jar of its own. */
    String cudaAbsence() {
        return NativeLoader.CUDA_LIBRARY + " is missing: "
                + (directory().equals("linux-x86_64")
                        ? "add io.jccl:jccl-cuda of the same version with the classifier linux-x86_64"
                        : "platform=" + directory() + ", and releases have it for linux-x86_64")
                + ", or build JCCL on this host with -Djccl.cuda=ON";
    }

    String directory() {
        return os + "-" + arch;
    }

    /** Returns the name of the library's file. */
    String libraryFile() {
        return "libjccl.so";
    }
}
