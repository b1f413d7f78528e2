package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/**
 * Tests with which outcomes of a program a mutation counts as noticed. The outcomes here are made up;
 * {@code scripts/check-gpu-verify} runs the programs.
 */
class MutationsTest {

    private static final ChildProcess.Result LATE = new ChildProcess.Result(-1, "");

    /** Returns the result of a program whose kernels are correct. */
    private static ChildProcess.Result correct(List<String> command) {
        String protocol = command.get(command.indexOf("--protocol") + 1);
        return new ChildProcess.Result(
                0,
                """
                {"protocol":"%s","out_of_place":{"wrong":0},"in_place":{"wrong":0}}
                """
                        .formatted(protocol));
    }

    private static List<Report.Mutation> run(Mutations.Runner runner) throws IOException, InterruptedException {
        List<Report.Mutation> all = new Mutations(Path.of("library"), runner).run();
        assertThat(all).hasSize(12);
        return all;
    }

    /**
     * With correct kernels in place of the mutated ones, only the control, which expects no failure, counts as noticed.
     */
    @Test
    void mutationsAreNotNoticedIfTheKernelsAreCorrect() throws IOException, InterruptedException {
        assertThat(run((name, command, environment) -> correct(command)))
                .allMatch(one -> one.noticed() == one.expected().equals("nothing"));
    }

    @Test
    void programsThatRunOutOfTimeNoticeNothing() throws IOException, InterruptedException {
        assertThat(run((name, command, environment) -> LATE)).noneMatch(Report.Mutation::noticed);
    }

    /**
     * A mutation counts as noticed only if it causes the failure that is expected of it; the control must cause none.
     */
    @Test
    void aFailureOfAnotherKindDoesNotCountAsNoticed() throws IOException, InterruptedException {
        assertThat(run((name, command, environment) -> new ChildProcess.Result(1, "the driver is too old\n")))
                .noneMatch(Report.Mutation::noticed);
    }
}
