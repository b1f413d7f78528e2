package io.jccl.status;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import io.jccl.CommunicatorConfig;
import io.jccl.config.Settings;
import io.jccl.device.UserId;
import java.io.IOException;
import java.nio.channels.ServerSocketChannel;
import java.nio.file.AccessDeniedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermissions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** {@code scripts/check-field} runs this test also as a user without an entry in passwd. */
class StatusDirectoryTest {

    @TempDir
    Path folder;

    @Test
    void theDirectoryIsNamedAfterTheUserOfTheProcess() throws IOException {
        Settings none = Settings.load(CommunicatorConfig.defaults());
        long pid = ProcessHandle.current().pid();

        assertThat(StatusDirectory.of(none).path()).hasToString("/tmp/jccl-" + UserId.ofThisProcess());
        assertThat(StatusDirectory.ofProcess(none, pid).path())
                .isEqualTo(StatusDirectory.of(none).path());
    }

    @Test
    void aProcessListensInItsUsersDirectoryAndTheUserFindsIt() throws IOException {
        StatusDirectory directory = StatusDirectory.of(settings(folder.resolve("status")));

        try (ServerSocketChannel listening = directory.bind(1)) {
            assertThat(listening.isOpen()).isTrue();
            assertThat(directory.entries())
                    .extracting(StatusDirectory.Entry::pid)
                    .containsExactly(1L);
        }
    }

    @Test
    void aDirectoryThatOthersCanEnterIsRefusedWithOwnerAndRemedy() throws IOException {
        Path open = Files.createDirectory(folder.resolve("open"));
        Files.setPosixFilePermissions(open, PosixFilePermissions.fromString("rwxr-xr-x"));

        assertThatThrownBy(() -> StatusDirectory.of(settings(open)).bind(1))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("owner=" + UserId.ofThisProcess())
                .hasMessageContaining("rwxr-xr-x")
                .hasMessageContaining("JCCL_STATUS_DIR");
    }

    @Test
    void theDirectoryOfAnotherUsersProcessIsRefusedByName() throws IOException {
        assumeTrue(UserId.ofThisProcess() != 0, "root may look into every process");

        assertThatThrownBy(() -> StatusDirectory.ofProcess(Settings.load(CommunicatorConfig.defaults()), 1))
                .isInstanceOf(AccessDeniedException.class)
                .hasMessageContaining("pid=1 uid=0")
                .hasMessageContaining("uid=" + UserId.ofThisProcess());
    }

    @Test
    void onlyTheSocketOfAnEndedProcessIsRemoved() throws Exception {
        StatusDirectory directory = StatusDirectory.of(settings(folder.resolve("status")));
        Process ended = new ProcessBuilder("true").start();
        ended.waitFor();
        long living = ProcessHandle.current().pid();
        directory.bind(ended.pid()).close(); // the socket files stay, and refuse connections
        directory.bind(living).close();

        for (StatusDirectory.Entry entry : directory.entries()) {
            directory.remove(entry);
        }
        assertThat(directory.entries()).extracting(StatusDirectory.Entry::pid).containsExactly(living);
    }

    private static Settings settings(Path directory) {
        return Settings.load(CommunicatorConfig.builder()
                .setting("JCCL_STATUS_DIR", directory.toString())
                .build());
    }
}
