package io.jccl.device;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Which user the kernel takes this process for. */
class HostIdentityTest {

    @TempDir
    Path folder;

    @Test
    void theUserIsTheOneToWhomNewFilesBelong() throws Exception {
        Path file = Files.createFile(folder.resolve("mine"));
        assertThat(HostIdentity.uid()).isEqualTo(Files.getAttribute(file, "unix:uid"));
    }

    @Test
    void theUserOfFilesIsReadAlsoWhereItIsNotTheRealOneOrVeryLarge() throws Exception {
        Path status = folder.resolve("status");
        Files.writeString(status, "Name:\tjava\nUid:\t1000\t1001\t1002\t4294967294\nGid:\t5\t5\t5\t5\n");
        assertThat(Integer.toUnsignedString(HostIdentity.uid(status))).isEqualTo("4294967294");
        Files.writeString(status, "Name:\tjava\n");
        assertThatThrownBy(() -> HostIdentity.uid(status)).isInstanceOf(IOException.class);
    }
}
