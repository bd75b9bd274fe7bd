# Real data sets that R packages carry, as tables for benchmarks/quality: Rscript r_sets.R FOLDER
#
# FOLDER is r/ in the folder that PROJSE_DATA names. Debian: apt install r-base-core r-bioc-all r-cran-ade4
# r-cran-caret r-cran-mlbench r-cran-modeldata r-cran-pls r-cran-vegan.
# A file's first letter is the kind: n numbers, c classes, v two views, o one view (its Y is not used).

suppressMessages({
  library(caret); library(modeldata); library(mlbench); library(pls); library(vegan); library(ade4); library(ALL)
})
folder <- commandArgs(trailingOnly = TRUE)[1]
dir.create(folder, showWarnings = FALSE, recursive = TRUE)

save <- function(name, X, Y) {
  X <- as.matrix(X)
  storage.mode(X) <- "double"
  if (is.factor(Y) || is.character(Y)) Y <- as.integer(factor(Y)) - 1
  Y <- as.matrix(Y)
  storage.mode(Y) <- "double"
  whole <- complete.cases(X) & complete.cases(Y)
  for (part in c("X", "Y")) {
    table <- get(part)[whole, , drop = FALSE]
    write.table(table, file.path(folder, paste0(name, ".", part, ".csv")), sep = ",", row.names = FALSE, col.names = FALSE)
  }
}
num <- function(d) d[, sapply(d, is.numeric)]
quietly <- function(e) tryCatch(e, error = function(x) message(conditionMessage(x)))

quietly({data(tecator,package="caret"); save("n_tecator",absorp,endpoints)})
quietly({data(BloodBrain,package="caret"); save("n_bbb",bbbDescr,logBBB)})
quietly({data(cox2,package="caret"); save("n_cox2",cox2Descr,log(cox2IC50))})
quietly({data(dhfr,package="caret"); save("c_dhfr",dhfr[,-1],dhfr$Y)})
quietly({data(mdrr,package="caret"); save("c_mdrr",mdrrDescr,mdrrClass)})
quietly({data(yarn,package="pls"); save("n_yarn",yarn$NIR,yarn$density)})
quietly({data(gasoline,package="pls"); save("n_gasoline",gasoline$NIR,gasoline$octane)})
quietly({data(varespec);data(varechem); save("n_vare",log1p(varespec),varechem); save("v_vare",log1p(varespec),varechem); save("n_vare_rev",varechem,log1p(varespec))})
quietly({data(mite);data(mite.env); e <- num(mite.env); save("n_mite",log1p(mite),e)})
quietly({data(BCI); save("o_bci",log1p(BCI),BCI[,1])})
quietly({data(doubs); save("n_doubs",doubs$env,doubs$fish); save("v_doubs",doubs$env,doubs$fish)})
quietly({data(mafragh); save("n_mafragh",mafragh$flo,mafragh$env); save("v_mafragh",mafragh$flo,mafragh$env)})
quietly({data(rpjdl); save("o_rpjdl",rpjdl$fau,rpjdl$fau[,1])})
quietly({data(aviurba); save("o_aviurba",aviurba$fau,aviurba$fau[,1])})
quietly({data(ALL); e <- exprs(ALL); v <- apply(e,1,var); g <- order(-v)[1:800]; g <- g[order(sin(1:800*7))]; X <- t(e[g,]); save("n_ALLgenes",X[,1:500],X[,501:600]); save("o_ALL",X[,1:500],X[,1])})
quietly({data(ad_data,package="modeldata"); d <- num(ad_data); save("c_ad",d,ad_data$Class)})
quietly({data(cells,package="modeldata"); d <- num(cells);save("o_cells",d,d[,1])})
quietly({data(Chicago,package="modeldata"); d <- num(Chicago); i <- seq(1,nrow(d),5); save("n_chicago",d[i,-1],d[i,1]); save("n_chicago5",d[i,c(7:ncol(d))],d[i,1:6]); save("o_chicago",d[i,],d[i,1])})
quietly({data(pd_speech,package="modeldata"); d <- num(pd_speech); save("o_pd",d[,1:600],d[,1]); save("n_pd",d[,1:500],d[,seq(501,ncol(d),10)]); save("v_pd",d[,1:300],d[,301:600])})
quietly({data(concrete,package="modeldata"); d <- num(concrete); X <- model.matrix(~.^2-1,data=as.data.frame(scale(d[,-ncol(d)]))); save("n_concrete2",X,d$compressive_strength)})
quietly({data(ames,package="modeldata"); d <- num(ames); save("n_ames",d[,colnames(d)!="Sale_Price"],log(d$Sale_Price))})
quietly({data(Sonar); save("c_sonar",Sonar[,1:60],Sonar$Class); save("o_sonar",Sonar[,1:60],Sonar[,1]); save("v_sonar",Sonar[,1:30],Sonar[,31:60])})
quietly({data(Satellite); i <- seq(1,nrow(Satellite),6); save("c_satellite",Satellite[i,1:36],Satellite$classes[i])})
quietly({data(Vehicle); X <- model.matrix(~.^2-1,data=as.data.frame(scale(Vehicle[,1:18]))); save("c_vehicle2",X,Vehicle$Class)})
quietly({data(Ionosphere); save("c_ionosphere",num(Ionosphere),Ionosphere$Class)})
quietly({data(BostonHousing); X <- model.matrix(~.^2-1,data=as.data.frame(scale(num(BostonHousing)[,-13]))); save("n_boston2",X,BostonHousing$medv)})
quietly({data(scat,package="modeldata"); d <- num(scat); save("c_scat",d,scat$Species)})
quietly({data(trichometeo); save("n_tricho",trichometeo$meteo,log1p(trichometeo$fau)); save("v_tricho",trichometeo$meteo,log1p(trichometeo$fau))})
quietly({data(rhone); save("o_rhone",rhone$tab,rhone$tab[,1])})
quietly({data(jv73); save("n_jv73",log1p(jv73$poi),jv73$mor);})
