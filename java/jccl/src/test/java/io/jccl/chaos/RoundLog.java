package io.jccl.chaos;

import io.jccl.testing.WorkerProcess.Report;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;

/**
 * The log of a round.
 *
 * @param struckNanos the time at which the first victim was struck, or 0 if none entered the phase
 * @param reports the reports of each rank
 * @param held for each living rank, the resources that it holds in addition to those that it held before its first
 *     round; ranks without such resources are left out
 * @param troubles problems of the harness itself, such as a victim that never entered the phase
 */
record RoundLog(
        Round round, long struckNanos, List<List<Report>> reports, Map<Integer, String> held, List<String> troubles) {

    /** Returns the results of the ranks that ended. */
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

    /** Returns the time from the fault until a rank's first report with a prefix, in seconds; NaN if there is none. */
    double secondsUntil(int rank, String prefix) {
        for (Report report : reports.get(rank)) {
            if (report.text().startsWith(prefix)) {
                return (report.nanos() - struckNanos) / 1e9;
            }
        }
        return Double.NaN;
    }

    /** Describes all reports, by rank and then by time, for a person. */
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
