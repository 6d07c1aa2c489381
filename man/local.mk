# man — what people read; tests/man holds it against what the programs say
dist_man_MANS += man/wafer.1 man/wafer-job.5 man/waferd.8 man/waferd.policies.5 man/wafersim.8
