package io.jccl.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class UserIdTest {

    @TempDir
    Path folder;

    @Test
    void thisProcessBelongsToTheUserThatTheSystemNames() throws Exception {
        Process id = new ProcessBuilder("id", "-u").start();
        String uid = new String(id.getInputStream().readAllBytes(), StandardCharsets.US_ASCII).strip();

        assertThat(UserId.ofThisProcess()).hasToString(uid);
        assertThat(UserId.ofProcess(ProcessHandle.current().pid())).hasToString(uid);
        assertThat(UserId.ownerOf(Files.createFile(folder.resolve("mine")))).hasToString(uid);
        assertThat(HostIdentity.isolationDomain()).endsWith("user " + uid);
    }

    @Test
    void theFileSystemUserIsReadEvenIfItDiffersFromTheRealUserOrIsVeryLarge() throws IOException {
        assertThat(UserId.ofStatus(status("Name:\tjava\nUid:\t1000\t1001\t1002\t4294967294\nGid:\t1\t1\t1\t1\n")))
                .isEqualTo(4_294_967_294L);
    }

    @Test
    void aStatusWithoutUsersNamesTheFile() throws IOException {
        Path status = status("Name:\tUid:\t1\n");

        assertThatThrownBy(() -> UserId.ofStatus(status))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("file=" + status)
                .hasMessageContaining("\"Uid:\"");
    }

    @Test
    void aMissingProcessIsReportedAsAMissingFile() {
        assertThatThrownBy(() -> UserId.ofProcess(Integer.MAX_VALUE)).isInstanceOf(NoSuchFileException.class);
    }

    private Path status(String text) throws IOException {
        return Files.writeString(folder.resolve("status"), text);
    }
}
