package io.jccl.verify;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;

/** Tests how the output of foreign programs is read. */
class ProgramOutputTest {

    @Test
    void rowsOfNcclTestsAreReadAndOtherLinesAreNot() {
        String output =
                """
                # nThread 1 nGpus 2 minBytes 8 maxBytes 134217728 step: 16(factor) warmup iters: 5
                #       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
                #        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
                           8             2     float     sum      -1     6.21    0.00    0.00      0     6.23    0.00    0.00      0
                   134217728      33554432     float     sum      -1   812.50  165.19  165.19    N/A   811.90  165.31  165.31      0
                # Avg bus bandwidth    : 82.6
                """;
        assertThat(NcclTests.read("all_reduce", 2, output))
                .containsExactly(
                        new Report.Measurement("all_reduce", 2, 1, 8, "nccl", "nccl", 0, 6.21, 0, 0, null, 0L, 0),
                        new Report.Measurement(
                                "all_reduce",
                                2,
                                1,
                                134217728,
                                "nccl",
                                "nccl",
                                0,
                                812.5,
                                165.19,
                                165.19,
                                null,
                                null,
                                0));
    }

    @Test
    void countsOfTestsAreReadFromJunitsSummary() {
        String output =
                """
                [        41 tests found           ]
                [         3 tests skipped         ]
                [        38 tests started         ]
                [         1 tests aborted         ]
                [        35 tests successful      ]
                [         2 tests failed          ]
                """;
        assertThat(JunitTests.counted(output)).isEqualTo(new Report.Tests(35, 2, 4));
    }
}
