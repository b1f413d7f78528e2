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
    void otherLibrariesAreSearchedForBesideTheOneThatIsLoaded() throws IOException {
        assertThat(embedded(List.of()).has("libjccl.so")).isTrue();
        assertThat(embedded(List.of()).has("libnone.so")).isFalse();

        Path library = Files.createFile(directory.resolve("libjccl.so"));
        assertThat(named(directory).has("libother.so")).isFalse();
        Files.createFile(directory.resolve("libother.so"));
        assertThat(named(directory).has("libother.so")).isTrue();
        assertThat(named(library).has("libother.so")).isTrue();
    }

    @Test
    void extractsToADirectoryOfItsOwnAndDeletesItAfterLoading() throws IOException {
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
                .hasMessageStartingWith("platform=linux-riscv64: this jar has no META-INF/native/linux-riscv64/");
    }

    private static String permissionsOf(Path path) {
        try {
            return PosixFilePermissions.toString(Files.getPosixFilePermissions(path));
        } catch (IOException e) {
            throw new java.io.UncheckedIOException(e);
        }
    }
}
