package io.jccl.nativelib;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class NativeLibraryFinderTest {

    private static final Platform X86_64 = Platform.of("Linux", "amd64");

    @TempDir
    private Path directory;

    private final List<Path> loaded = new ArrayList<>();

    private NativeLibraryFinder embedded(List<Path> places) {
        return new NativeLibraryFinder(
                X86_64, Optional.empty(), places, getClass().getClassLoader());
    }

    private NativeLibraryFinder named(Path path) {
        return new NativeLibraryFinder(
                X86_64, Optional.of(path), List.of(), getClass().getClassLoader());
    }

    @Test
    void otherLibrariesAreSearchedForNextToTheLoadedOne() throws IOException {
        assertThat(embedded(List.of()).has("libjccl.so")).isTrue();
        assertThat(embedded(List.of()).has("libnone.so")).isFalse();

        Path library = Files.createFile(directory.resolve("libjccl.so"));
        assertThat(named(directory).has("libother.so")).isFalse();
        Files.createFile(directory.resolve("libother.so"));
        assertThat(named(directory).has("libother.so")).isTrue();
        assertThat(named(library).has("libother.so")).isTrue();
    }

    @Test
    void extractsToANewDirectoryAndDeletesItAfterLoading() throws IOException {
        List<String> permissions = new ArrayList<>();

        assertThatThrownBy(() -> embedded(List.of(directory))
                        .load(
                                path -> {
                                    loaded.add(Path.of(path));
                                    permissions.add(permissionsOf(Path.of(path).getParent()));
                                },
                                () -> "another"))
                .isInstanceOf(NativeLoadException.class)
                .hasMessageContaining("buildId=another: expected buildId=");

        assertThat(permissions).containsExactly("rwx------");
        assertThat(loaded).singleElement().satisfies(path -> assertThat(path.getParent())
                .doesNotExist());
        assertThat(directory).isEmptyDirectory();
    }

    @Test
    void takesTheNextPlaceWhenTheFirstForbidsExecuting() throws IOException {
        Path other = Files.createDirectory(directory.resolve("other"));

        assertThatThrownBy(() -> embedded(List.of(directory, other))
                        .load(
                                path -> {
                                    loaded.add(Path.of(path));
                                    throw new UnsatisfiedLinkError(path + ": failed to map segment from shared object");
                                },
                                () -> ""))
                .hasMessageContaining("noexec")
                .hasMessageContaining("-Djava.io.tmpdir")
                .satisfies(failure -> assertThat(failure.getSuppressed()).hasSize(2));

        assertThat(loaded).hasSize(2);
        assertThat(loaded.get(1)).startsWithRaw(other);
    }

    @Test
    void refusesALibraryForAnotherProcessor() throws IOException {
        byte[] header = new byte[64];
        System.arraycopy(new byte[] {0x7f, 'E', 'L', 'F', 2, 1}, 0, header, 0, 6);
        header[18] = (byte) 183;
        Files.write(directory.resolve("libjccl.so"), header);

        assertThatThrownBy(() -> named(directory).load(path -> loaded.add(Path.of(path)), () -> ""))
                .hasMessageContaining("architecture=aarch64: expected x86_64");
        assertThat(loaded).isEmpty();
    }

    @Test
    void refusesAFileThatIsNoLibraryAndAPathWithNone() throws IOException {
        Path text = Files.writeString(directory.resolve("notes.txt"), "not a library at all");

        assertThatThrownBy(() -> named(text).load(path -> loaded.add(Path.of(path)), () -> ""))
                .hasMessageContaining("expected an ELF");
        assertThatThrownBy(() -> named(directory).load(path -> loaded.add(Path.of(path)), () -> ""))
                .hasMessageStartingWith("-Djccl.native.path=" + directory + ": expected a library or a directory");
    }

    @Test
    void refusesALibraryWithoutABuildId() {
        assertThatThrownBy(() -> embedded(List.of(directory)).load(path -> {}, () -> {
                    throw new UnsatisfiedLinkError("no buildId");
                }))
                .hasMessageContaining("buildId=none: expected buildId=");
    }

    @Test
    void namesThePlatformThatTheJarLacks() {
        Platform other = Platform.of("Linux", "riscv64");

        assertThatThrownBy(() -> new NativeLibraryFinder(
                                other,
                                Optional.empty(),
                                List.of(directory),
                                getClass().getClassLoader())
                        .load(path -> {}, () -> ""))
                .hasMessageStartingWith("platform=linux-riscv64: this jar has no native library for it")
                .hasMessageContaining("expected linux-x86_64 or linux-aarch64")
                .hasMessageContaining("-Djccl.native.path");
    }

    /** Returns a finder whose class loader has no {@code META-INF/native}, as with repackaged jars. */
    private NativeLibraryFinder repackaged(Optional<Path> named) {
        return new NativeLibraryFinder(X86_64, named, List.of(directory), ClassLoader.getPlatformClassLoader());
    }

    @Test
    void namesTheFolderThatWasLostWhenJarsWereRepackaged() {
        assertThatThrownBy(() -> repackaged(Optional.empty()).load(path -> {}, () -> ""))
                .hasMessageStartingWith(
                        "platform=linux-x86_64: this jar has no native library for it; use the released")
                .hasMessageContaining("META-INF/native");
        assertThatThrownBy(() -> repackaged(Optional.of(directory)).load(path -> {}, () -> ""))
                .hasMessageStartingWith("-Djccl.native.path=" + directory + ": this jar has no META-INF/native/")
                .hasMessageContaining("keep META-INF/native");
    }

    @Test
    void aLibraryForAProcessorThatNoReleaseHasIsCheckedAgainstTheSameBuild() throws IOException {
        byte[] header = new byte[64];
        System.arraycopy(new byte[] {0x7f, 'E', 'L', 'F', 2, 1}, 0, header, 0, 6);
        header[18] = (byte) 243; // RISC-V
        Files.write(directory.resolve("libjccl.so"), header);
        Platform riscv = Platform.of("Linux", "riscv64");

        assertThatThrownBy(() -> new NativeLibraryFinder(
                                riscv,
                                Optional.of(directory),
                                List.of(),
                                getClass().getClassLoader())
                        .load(path -> loaded.add(Path.of(path)), () -> "another"))
                .hasMessageContaining("buildId=another: expected buildId=");
        assertThat(loaded).hasSize(1);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "Mac OS X | aarch64 | '' | os=mac_os_x: expected linux",
                "Windows 11 | amd64 | '' | os=windows_11: expected linux",
                "Linux | amd64 | /lib/ld-musl-x86_64.so.1 | C library=musl: expected glibc 2.28",
                "Linux | amd64 | /usr/lib64/libc-2.17.so | C library=glibc-2.17: expected glibc 2.28",
            })
    void namesWhatTheHostLacksBeforeAnythingIsExtracted(String os, String arch, String mapped, String expected) {
        Platform platform = Platform.of(os, arch, "7f00-7f01 r-xp 00000000 08:01 42   " + mapped + "\n");
        NativeLibraryFinder finder = new NativeLibraryFinder(
                platform, Optional.empty(), List.of(directory), getClass().getClassLoader());

        assertThatThrownBy(() -> finder.load(path -> loaded.add(Path.of(path)), () -> ""))
                .isInstanceOf(NativeLoadException.class)
                .hasMessageStartingWith(expected)
                .hasMessageContaining("jccl topo --file");
        assertThat(loaded).isEmpty();
        assertThat(directory).isEmptyDirectory();
    }

    @ParameterizedTest
    @ValueSource(strings = {"/usr/lib64/libc-2.28.so", "/usr/lib/x86_64-linux-gnu/libc.so.6", ""})
    void acceptsHostsWithANewEnoughCLibrary(String mapped) {
        assertThat(Platform.of("Linux", "aarch64", mapped).obstacle()).isEmpty();
    }

    private static String permissionsOf(Path path) {
        try {
            return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
