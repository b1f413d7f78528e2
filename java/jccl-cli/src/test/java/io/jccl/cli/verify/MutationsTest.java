package io.jccl.cli.verify;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;

/** What counts as noticed; {@code scripts/check-gpu-verify} runs the programs. */
class MutationsTest {

    private static final ChildProcess.Result LATE = new ChildProcess.Result(-1, "");

    /** What a program prints whose kernels go right. */
    private static ChildProcess.Result right(List<String> command) {
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

    /** Kernels that go right in the place of those that go wrong: nothing is there to be noticed. */
    @Test
    void kernelsThatGoRightAreNotNoticed() throws IOException, InterruptedException {
        assertThat(run((name, command, environment) -> right(command)))
                .allMatch(one -> one.noticed() == one.expected().equals("nothing"));
    }

    @Test
    void whatHasNoTimeNoticesNothing() throws IOException, InterruptedException {
        assertThat(run((name, command, environment) -> LATE)).noneMatch(Report.Mutation::noticed);
    }

    /** Each has to be noticed by what is named, and the control by nothing. */
    @Test
    void aFailureOfAnotherKindIsNotWhatIsExpected() throws IOException, InterruptedException {
        assertThat(run((name, command, environment) -> new ChildProcess.Result(1, "the driver is too old\n")))
                .noneMatch(Report.Mutation::noticed);
    }
}
