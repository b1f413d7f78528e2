package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class HostFactsTest {

    @Test
    void theModelIsThatOfTheFirstProcessor() {
        String cpuinfo =
                "processor\t: 0\nmodel\t\t: 2\nmodel name\t: Some  Processor @ 2 GHz \n\nmodel name\t: Other\n";
        assertThat(HostFacts.model(cpuinfo)).contains("Some Processor @ 2 GHz");
    }

    @Test
    void aKernelThatNamesNoModelGivesNone() {
        assertThat(HostFacts.model("processor\t: 0\nCPU part\t: 0xd0c\nmodel name\t:\n"))
                .isEmpty();
    }
}
