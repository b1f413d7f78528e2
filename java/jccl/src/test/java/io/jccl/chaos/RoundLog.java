package io.jccl.chaos;

import io.jccl.testing.WorkerProcess.Report;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * What happened in a round.
 *
 * @param struckNanos when the first victim was struck, or 0 if it never got there
 * @param reports by rank what it reported
 * @param held by rank that lives what it held beyond what it held before; without those that hold nothing
 * @param troubles what went wrong with the harness itself, such as a victim that never entered the phase
 */
record RoundLog(
        Round round, long struckNanos, List<List<Report>> reports, Map<Integer, String> held, List<String> troubles) {

    /** The results of the ranks that ended. */
    Map<Integer, String> ends() {
        Map<Integer, String> ends = new TreeMap<>();
        for (int rank = 0; rank < reports.size(); rank++) {
            for (Report report : reports.get(rank)) {
                if (report.text().startsWith("end ")) {
                    ends.put(rank, report.text().substring(4));
                }
            }
        }
        return ends;
    }

    /** When a rank first reported something with a prefix, in seconds after the victim was struck; NaN if it never did. */
    double secondsUntil(int rank, String prefix) {
        for (Report report : reports.get(rank)) {
            if (report.text().startsWith(prefix)) {
                return (report.nanos() - struckNanos) / 1e9;
            }
        }
        return Double.NaN;
    }

    /** Everything in the order of time, for a person. */
    String describe() {
        StringBuilder text = new StringBuilder();
        for (int rank = 0; rank < reports.size(); rank++) {
            for (Report report : reports.get(rank)) {
                text.append(String.format(
                        "    %8.3f s  rank %d%s  %s%n",
                        (report.nanos() - struckNanos) / 1e9,
                        rank,
                        round.victims().contains(rank) ? " (victim)" : "",
                        report.text()));
            }
        }
        return text.toString();
    }
}
