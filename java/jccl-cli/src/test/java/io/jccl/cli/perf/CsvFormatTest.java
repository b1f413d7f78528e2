package io.jccl.cli.perf;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

class CsvFormatTest {

    /** Parses one record as RFC 4180 defines it. */
    private static List<String> parse(String line) {
        assertThat(line).endsWith("\r\n");
        List<String> values = new ArrayList<>();
        StringBuilder value = new StringBuilder();
        boolean quoted = false;
        for (int i = 0; i < line.length() - 2; i++) {
            char letter = line.charAt(i);
            if (letter == '"') {
                boolean escaped = quoted && i + 1 < line.length() && line.charAt(i + 1) == '"';
                if (escaped) {
                    value.append(letter);
                    i++;
                } else {
                    quoted = !quoted;
                }
            } else if (letter == ',' && !quoted) {
                values.add(value.toString());
                value.setLength(0);
            } else {
                value.append(letter);
            }
        }
        values.add(value.toString());
        return values;
    }

    @Test
    void columnNamesDoNotChange() {
        assertThat(CsvFormat.header())
                .isEqualTo(
                        "collective,backend,transport,ranks,bytes,count,type,op,root,algorithm,protocol,channels,"
                                + "out_of_place_time_us,out_of_place_p50_us,out_of_place_p99_us,out_of_place_algbw_gbps,"
                                + "out_of_place_busbw_gbps,out_of_place_wrong,in_place_time_us,in_place_p50_us,in_place_p99_us,"
                                + "in_place_algbw_gbps,in_place_busbw_gbps,in_place_wrong,version,host,date,mode,peer_version,"
                                + "peer_out_of_place_p50_us,peer_out_of_place_ratio,peer_in_place_p50_us,peer_in_place_ratio\r\n");
    }

    @Test
    void aRowHasAValueForEachColumnWhichIsEmptyIfNothingWasMeasured() {
        PerfRow row = PerfTableTest.row("all_reduce", PerfTableTest.side(100, 0L), PerfRow.Side.absent(false));
        String values = "all_reduce host shm 4 1048576 262144 float32 sum -1 ring ll128 2 "
                + "100.0 90.0 200.0 10.4858 15.7286 0 - - - - - - 1.2.0 node1 2026-11-23T10:20:30Z await - - - - -";
        assertThat(parse(CsvFormat.row(row, RunInfos.SAMPLE)))
                .hasSameSizeAs(parse(CsvFormat.header()))
                .containsExactly(values.replaceAll(" -(?= |$)", " ").split(" ", -1));
    }

    @ParameterizedTest
    @ValueSource(strings = {"plain", "a,b", "say \"so\"", "two\nlines", "\"", ",", ""})
    void everyValueIsReadAsItWasWritten(String value) {
        assertThat(parse(CsvFormat.quoted(value) + "," + CsvFormat.quoted("next") + "\r\n"))
                .containsExactly(value, "next");
    }
}
