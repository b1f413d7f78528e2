package io.jccl.topology;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class LinkSpeedsTest {

    @ParameterizedTest
    @CsvSource({
        "2.5 GT/s, 16, 3",
        "5 GT/s, 4, 1.5",
        "5.0 GT/s PCIe, 4, 1.5",
        "8 GT/s, 16, 12",
        "8.0 GT/s PCIe, 16, 12",
        "16.0 GT/s PCIe, 16, 24",
        "32.0 GT/s PCIe, 8, 24",
        "64.0 GT/s PCIe, 16, 96",
        "Unknown, 16, 12",
        "Unknown speed, 8, 6",
        "'', 0, 12",
        "8 GT/s, 0, 12",
        "1e999 GT/s, 16, 12",
    })
    void knowsPciSpeedsInEverySpelling(String speed, int lanes, double expected) {
        assertThat(LinkSpeeds.pci(speed, lanes)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "60, 18",
        "61, 18",
        "70, 20",
        "75, 20",
        "80, 20",
        "86, 12",
        "87, 20",
        "89, 20",
        "90, 20.6",
        "100, 40.1",
        "103, 40.1",
        "120, 40.1",
        "0, 20"
    })
    void knowsNvlinkSpeeds(int sm, double expected) {
        assertThat(LinkSpeeds.nvLink(sm)).isEqualTo(expected);
    }

    /**
     * Half of the memory bandwidths in the data sheets of P100, V100, T4, A100, A10, L40S, H100, B200 and RTX PRO 6000.
     */
    @ParameterizedTest
    @CsvSource({
        "60, 366",
        "70, 450",
        "72, 450",
        "75, 160",
        "80, 777.5",
        "86, 300",
        "89, 432",
        "90, 1675",
        "100, 4000",
        "103, 4000",
        "120, 896",
        "0, 160"
    })
    void knowsTheCopyBandwidthOfGpuMemory(int sm, double expected) {
        assertThat(LinkSpeeds.deviceMemory(sm)).isEqualTo(expected);
    }

    @ParameterizedTest
    @CsvSource({
        "x86_64, GenuineIntel, 6, 79, 6",
        "x86_64, GenuineIntel, 6, 85, 10",
        "x86_64, GenuineIntel, 6, 106, 10",
        "x86_64, GenuineIntel, 6, 143, 22",
        "x86_64, GenuineIntel, 6, 207, 40",
        "x86_64, AuthenticAMD, 25, 1, 16",
        "x86_64, '  Shanghai  ', 7, 91, 9",
        "x86_64, CentaurHauls, 7, 27, 6",
        "arm64, '', -1, -1, 6",
        "aarch64, '', -1, -1, 6",
        "ppc64, '', -1, -1, 32",
        "riscv64, '', -1, -1, 6",
    })
    void knowsLinksBetweenSockets(String arch, String vendor, int family, int model, double expected) {
        assertThat(LinkSpeeds.interSocket(new CpuModel(arch, vendor, family, model)))
                .isEqualTo(expected);
    }
}
