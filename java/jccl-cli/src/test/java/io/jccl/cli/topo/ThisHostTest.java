package io.jccl.cli.topo;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

class ThisHostTest {

    @Test
    void theModelIsThatOfTheFirstProcessor() {
        String cpuinfo =
                "processor\t: 0\nmodel\t\t: 2\nmodel name\t: Some  Processor @ 2 GHz \n\nmodel name\t: Other\n";
        assertThat(ThisHost.model(cpuinfo)).contains("Some Processor @ 2 GHz");
    }

    @Test
    void aKernelThatNamesNoModelGivesNone() {
        assertThat(ThisHost.model("processor\t: 0\nCPU part\t: 0xd0c\nmodel name\t:\n"))
                .isEmpty();
    }
}
