package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.api.Test;

class ReadmeTest {

    @Test
    void theExampleIsTheOneThatCompiles() throws IOException {
        String readme = Files.readString(Path.of("../../README.md"));
        String block = readme.split("```java\n")[1].split("```")[0].strip();
        String source = Files.readString(Path.of("src/test/java/io/jccl/cli/example/AverageGradients.java"));
        assertThat(block).isEqualTo(source.substring(source.indexOf('\n')).strip());
    }
}
