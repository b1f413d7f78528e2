package io.jccl.cli.trace;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/**
 * Tests that every input of the fuzz corpus is read or refused. {@code scripts/check-fuzz} looks for further inputs.
 */
class DumpCorpusTest {

    private static final int MIN_INPUTS = 10;

    @Test
    void everyInputOfTheCorpusIsReadOrRefused() throws Exception {
        List<Path> inputs;
        try (Stream<Path> files = Files.list(
                Path.of(DumpCorpusTest.class.getResource("corpus/several-ranks").toURI())
                        .getParent())) {
            inputs = files.toList();
        }
        assertThat(inputs).hasSizeGreaterThan(MIN_INPUTS);
        for (Path input : inputs) {
            byte[] bytes = Files.readAllBytes(input);
            assertThatCode(() -> DumpFuzz.fuzzerTestOneInput(bytes))
                    .as(input.toString())
                    .doesNotThrowAnyException();
        }
    }
}
