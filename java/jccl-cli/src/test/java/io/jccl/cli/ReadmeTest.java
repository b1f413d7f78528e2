package io.jccl.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class ReadmeTest {

    @ParameterizedTest
    @CsvSource({"README.md, AverageGradients", "docs/concepts.md, AverageInPlace"})
    void programsOfPagesEqualThoseThatAreCompiled(String page, String program) throws IOException {
        String source = Files.readString(Path.of("src/test/java/io/jccl/cli/example/" + program + ".java"));
        String body = source.substring(source.indexOf('\n')).strip();
        assertThat(Files.readString(Path.of("../..").resolve(page))).contains("```java\n" + body + "\n```");
    }
}
