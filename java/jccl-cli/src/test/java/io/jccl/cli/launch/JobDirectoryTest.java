package io.jccl.cli.launch;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Path;
import java.time.Duration;
import org.junit.jupiter.api.Test;

class JobDirectoryTest {

    @Test
    void aDirectoryThatCannotBeMadeIsReportedWithReasonAndRemedy() {
        assertThatThrownBy(() -> JobDirectory.create(Path.of("/dev/null"), Duration.ofSeconds(1)))
                .isInstanceOf(IOException.class)
                .hasMessageStartingWith("directory=/dev/null/jccl-job-")
                .hasMessageContaining("Not a directory")
                .hasMessageContaining("-Djava.io.tmpdir=PATH");
    }
}
