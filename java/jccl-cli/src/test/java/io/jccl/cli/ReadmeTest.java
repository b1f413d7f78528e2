package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReadmeTest {

    @ParameterizedTest
    @CsvSource({"1, AverageGradients", "2, AverageInPlace"})
    void theExamplesAreThoseThatCompile(int position, String example) throws IOException {
        String readme = Files.readString(Path.of("../../README.md"));
        String block = readme.split("```java\n")[position].split("```")[0].strip();
        String source = Files.readString(Path.of("src/test/java/io/jccl/cli/example/" + example + ".java"));
        assertThat(block).isEqualTo(source.substring(source.indexOf('\n')).strip());
    }
}
